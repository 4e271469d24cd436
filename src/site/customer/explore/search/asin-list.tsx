import type { VNode } from 'preact';
import type { Product } from '../../../../operations/products/product.ts';
import type { FormValues } from '../../../kit/form-request.ts';
import { addressOf } from '../../../kit/paging.tsx';
import { counted } from '../../../kit/words.tsx';
import { type ShowContext, type View, viewOf } from '../view.ts';
import { Pager, pageIn } from './pager.tsx';
import { productRow } from './product-row.ts';
import { ProductTable } from './product-table.tsx';

/** A list of ASINs, thirty at a time. */
export function AsinList(props: {
  asins: readonly string[];
  /** The number of products, if the answer has only the first ones. */
  total?: number;
  domain: number;
  id: string;
  context: ShowContext;
}): VNode {
  const { asins, total = asins.length, domain, id, context } = props;
  if (asins.length === 0) return <p class="empty">No products.</p>;
  const page = pageIn(asins, context.query);
  return (
    <>
      <p>{counted(total, 'product')}</p>
      <ul class="asins">
        {page.rows.map((asin) => (
          <li key={asin}>
            <a href={addressOf('/explore/product', { domain: String(domain), asin })}>{asin}</a>
          </li>
        ))}
      </ul>
      <Pager page={page} context={context} id={id} />
    </>
  );
}

/** The view that fetches the products of the shown part of a list. Each part has a name, and so a job, of its own. */
export function detailsView(asins: readonly string[], domain: number, query: FormValues): View[] {
  const { rows, page } = pageIn(asins, query);
  if (rows.length === 0) return [];
  const name = `details${page}`;
  return [
    viewOf<{ products: Product[] }>({
      name,
      title: 'Details',
      button: `Show details of ${counted(rows.length, 'product')}`,
      operation: 'market.product',
      parameters: { domain, asins: rows, detailLevel: 'summary' },
      show: ({ products }, context) => {
        const found = new Map(products.map((product) => [product.asin, product]));
        const shown = rows.flatMap((asin) => found.get(asin) ?? []).map((one) => productRow(one, domain));
        return <ProductTable rows={shown} domain={domain} id={name} context={context} isPart />;
      },
      rows: ({ products }) => products.map((one) => ({ ...productRow(one, domain) })),
    }),
  ];
}
