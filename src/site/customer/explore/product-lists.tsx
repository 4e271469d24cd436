import type { VNode } from 'preact';
import type { Product } from '../../../operations/products/product.ts';
import { priceFormat, priceOf } from '../../../operations/products/provider-fields.ts';
import { SmallLink } from '../../kit/elements.tsx';
import type { FormValues } from '../../kit/form-request.ts';
import { addressOf } from '../../kit/list-page.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { valueText } from '../../kit/time-chart.tsx';
import { count, counted } from '../../kit/words.tsx';
import { againAddress, Picture, ProductLink, type ShowContext, type View, viewOf } from './explore-view.tsx';
import { MissingParts, type PartError } from './snapshot.tsx';

/** A list of ASINs, thirty at a time. It is folded where their details were asked for. */
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
      <details open={context.query[detailsOf(page.page)] === undefined}>
        <summary>ASINs</summary>
        <ul class="asins">
          {page.rows.map((asin) => (
            <li key={asin}>
              <ProductLink domain={domain} asin={asin} />
            </li>
          ))}
        </ul>
      </details>
      <Pager page={page} context={context} id={id} />
    </>
  );
}

/** The name of the view with the products of a part of a list. */
function detailsOf(page: number): string {
  return `details${page}`;
}

/** The view that fetches the products of the shown part of a list. Each part has a name, and so a job, of its own. */
export function detailsView(asins: readonly string[], domain: number, query: FormValues): View[] {
  const { rows, page } = pageIn(asins, query);
  if (rows.length === 0) return [];
  const name = detailsOf(page);
  return [
    viewOf<{ products: Product[]; errors: { asin: string; errorId: PartError['errorId'] }[] }>({
      name,
      title: 'Details',
      button: `Show details of ${counted(rows.length, 'product')}`,
      operation: 'market.product',
      parameters: { domain, asins: rows, detailLevel: 'summary' },
      show: ({ products, errors }, context) => {
        const found = new Map(products.map((product) => [product.asin, product]));
        const shown = rows.flatMap((asin) => found.get(asin) ?? []).map((one) => productRow(one, domain));
        return (
          <>
            <MissingParts
              errors={errors.map((error) => ({ source: 'products' as const, ...error }))}
              again={againAddress(context, name)}
            />
            <ProductTable rows={shown} domain={domain} id={name} context={context} isPart />
          </>
        );
      },
    }),
  ];
}

/** Columns that the table can be sorted by. */
const SORTED: Readonly<Record<string, keyof ProductRow>> = {
  Product: 'title',
  Brand: 'brand',
  Price: 'price',
  Rank: 'rank',
  Rating: 'rating',
  Reviews: 'reviews',
  'Sold in a month': 'sold',
};

/** Columns whose highest values come first. */
const DESCENDING = new Set(['Rating', 'Reviews', 'Sold in a month']);

/**
 * Products with pictures, in the order of the answer or sorted by a column, thirty at a time. Each row links to the product.
 * @param id of the part of the page, to which its links lead.
 */
export function ProductTable(props: {
  rows: readonly ProductRow[];
  domain: number;
  id: string;
  context: ShowContext;
  /** The rows are the shown part of a longer list, which has the links to other pages. */
  isPart?: boolean;
}): VNode {
  const { rows, domain, id, context, isPart = false } = props;
  const { query, path } = context;
  const by = Object.keys(SORTED).find((name) => SORTED[name] === query.sort);
  const isDescending = query.order === 'desc';
  const key = by && SORTED[by];
  const sorted = key ? sortedBy(rows, key, isDescending) : rows;
  const page = pageIn(sorted, isPart ? {} : query);
  const addressBy = (heading: string): string | null => {
    const column = SORTED[heading];
    if (!column) return null;
    const isDown = heading === by ? !isDescending : DESCENDING.has(heading);
    const sort = { sort: column, order: isDown ? 'desc' : 'asc', ...(isPart ? {} : { page: undefined }) };
    return `${addressOf(path, { ...query, ...sort })}#${id}`;
  };
  return (
    <>
      <Table
        name="Products"
        columns={columnsFor(domain, context)}
        rows={page.rows}
        empty="No products."
        sort={{ by, isDescending, addressBy }}
      />
      <Pager page={page} context={context} id={id} />
    </>
  );
}

function columnsFor(domain: number, { imageCdnUrl }: ShowContext): Column<ProductRow>[] {
  const number = (key: 'rank' | 'reviews' | 'sold') => (row: ProductRow) => valueText(row[key]);
  return [
    ['Picture', ({ image }) => <Picture host={imageCdnUrl} name={image} size={56} />],
    ['Product', ({ asin, title }) => <ProductLink domain={domain} asin={asin} title={title} />, 'row'],
    ['Brand', ({ brand }) => brand ?? '-'],
    ['Price', ({ price }) => valueText(price, priceFormat(domain)), 'number'],
    ['Rank', number('rank'), 'number'],
    ['Rating', ({ rating }) => valueText(rating, { minimumFractionDigits: 1 }), 'number'],
    ['Reviews', number('reviews'), 'number'],
    ['Sold in a month', number('sold'), 'number'],
  ];
}

/** A product as a row of a list, with the values that lists can be sorted by. */
interface ProductRow {
  asin: string;
  title: string | null;
  brand: string | null;
  image: string | null;
  price: number | null;
  rank: number | null;
  rating: number | null;
  reviews: number | null;
  sold: number | null;
}

/** Reads a product at the level `summary`. */
export function productRow(product: Product, domain: number): ProductRow {
  const { asin, title = null, brand = null, image } = product;
  const rating = known(product.rating);
  return {
    asin,
    title,
    brand,
    image: typeof image === 'string' ? image : null,
    price: priceOf(product.price as number | undefined, domain),
    rank: known(product.bsr),
    rating: rating === null ? null : rating / 10,
    reviews: known(product.reviewCount),
    sold: known(product.monthlySold),
  };
}

/** A value of the provider, for which a negative number means no data. */
function known(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 ? value : null;
}

/** Sorts rows by a column; rows without a value come last in both directions. */
export function sortedBy<Row>(rows: readonly Row[], key: keyof Row, isDescending: boolean): Row[] {
  const direction = isDescending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [a[key], b[key]];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    if (typeof x === 'number' && typeof y === 'number') return direction * (x - y);
    return direction * String(x).localeCompare(String(y), 'en');
  });
}

export const ROWS_A_PAGE = 30;

/** One page of a list. */
interface ListPart<Row> {
  rows: readonly Row[];
  /** From 0. */
  page: number;
  /** Number of rows of the whole list. */
  total: number;
}

/** The page of a list that the address names; the last one if the list is shorter. */
export function pageIn<Row>(rows: readonly Row[], { page = '0' }: FormValues): ListPart<Row> {
  const last = Math.max(0, Math.ceil(rows.length / ROWS_A_PAGE) - 1);
  const asked = /^\d{1,6}$/.test(page) ? Number(page) : 0;
  const shown = Math.min(asked, last);
  const from = shown * ROWS_A_PAGE;
  return { rows: rows.slice(from, from + ROWS_A_PAGE), page: shown, total: rows.length };
}

/** Links to the pages before and after; nothing if the list has one page. */
export function Pager(props: { page: ListPart<unknown>; context: ShowContext; id: string }): VNode | null {
  const { page: part, context, id } = props;
  const { rows, page, total } = part;
  if (total <= ROWS_A_PAGE) return null;
  const from = page * ROWS_A_PAGE;
  const address = (to: number) => `${addressOf(context.path, { ...context.query, page: String(to) })}#${id}`;
  return (
    <nav class="pages row" aria-label="Pages">
      <span class="muted">
        {count(from + 1)} to {count(from + rows.length)} of {count(total)}
      </span>
      {page > 0 && <SmallLink to={address(page - 1)}>Previous</SmallLink>}
      {from + rows.length < total && <SmallLink to={address(page + 1)}>Next</SmallLink>}
    </nav>
  );
}
