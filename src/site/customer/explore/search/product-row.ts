import type { Product } from '../../../../operations/products/product.ts';
import { priceOf } from '../../../../operations/products/site-prices.ts';

/** A product as a row of a list, with the values that lists can be sorted by. */
export interface ProductRow {
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
    ...{ asin, title, brand },
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
