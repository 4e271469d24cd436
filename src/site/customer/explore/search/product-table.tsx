import type { VNode } from 'preact';
import { priceFormat } from '../../../../operations/products/site-prices.ts';
import { addressOf } from '../../../kit/paging.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { valueText } from '../../../kit/time-chart.tsx';
import { Picture } from '../picture.tsx';
import type { ShowContext } from '../view.ts';
import { Pager, pageIn } from './pager.tsx';
import { type ProductRow, sortedBy } from './product-row.ts';

/** Columns that the table can be sorted by. */
const SORTED: Readonly<Record<string, keyof ProductRow>> = {
  ...{ Product: 'title', Brand: 'brand', Price: 'price', Rank: 'rank' },
  ...{ Rating: 'rating', Reviews: 'reviews', 'Sold in a month': 'sold' },
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
    [
      'Product',
      ({ asin, title }) => (
        <a href={addressOf('/explore/product', { domain: String(domain), asin })}>{title ?? asin}</a>
      ),
      'row',
    ],
    ['Brand', ({ brand }) => brand ?? '-'],
    ['Price', ({ price }) => valueText(price, priceFormat(domain)), 'number'],
    ['Rank', number('rank'), 'number'],
    ['Rating', ({ rating }) => valueText(rating, { minimumFractionDigits: 1 }), 'number'],
    ['Reviews', number('reviews'), 'number'],
    ['Sold in a month', number('sold'), 'number'],
  ];
}
