import { z } from 'zod';
import type { ErrorKind } from '../../platform/errors.ts';
import type { Route } from '../define.ts';
import {
  DEFAULT_STATS_DAYS,
  isFetchError,
  LOOK_UP_ERRORS,
  type LookUpError,
  noDataError,
  type ProductOptions,
} from '../market/product.ts';
import type { Domain } from '../params/domain.ts';
import { hasData, oldestUpdate, type Product } from '../products/product.ts';

/** The key of the rows of our reports among what a handler has found. No ASIN is in lower case. */
export const REPORTS_KEY = 'reports';

/** The key of the search trends. */
export const TRENDS_KEY = 'trends';

/** A part of an answer that is missing. */
export interface PartError {
  source: 'products' | 'trends';
  asin?: string;
  errorId: LookUpError['errorId'];
}

export const partErrors = z
  .array(
    z.object({
      source: z.enum(['products', 'trends']).describe('Kind of data that is missing'),
      asin: z.string().optional().describe('The product that is missing'),
      errorId: z.enum(LOOK_UP_ERRORS),
    }),
  )
  .describe(
    'Parts of the answer that are missing. PRODUCT_NOT_FOUND and PRODUCT_UNAVAILABLE are answers of the provider; the others could not be fetched and are not charged',
  );

/** Returns the routes of an operation whose parameters may be in a query or a body. */
export function getAndPost(path: string): readonly [Route, Route] {
  return [
    { method: 'GET', path },
    { method: 'POST', path },
  ];
}

/** Returns what the provider is asked about a product. A look-up with its rating asks the same, so both share a fetch. */
export function productOptions(domain: Domain): ProductOptions {
  return {
    domain,
    stats: DEFAULT_STATS_DAYS,
    history: true,
    offers: 0,
    rating: true,
    buybox: false,
    stock: false,
  };
}

/** Divides products into those that the provider has data of, and the errors of the others. */
export function productsAmong(
  asins: readonly string[],
  found: ReadonlyMap<string, unknown>,
  failures: ReadonlyMap<string, ErrorKind> = new Map(),
): { products: Map<string, Product>; errors: PartError[] } {
  const products = new Map<string, Product>();
  const errors: PartError[] = [];
  for (const asin of asins) {
    const failure = failures.get(asin);
    const product = found.get(asin) as Product | undefined;
    if (isFetchError(failure)) errors.push({ source: 'products', asin, errorId: failure });
    else if (product && hasData(product)) products.set(asin, product);
    else errors.push({ source: 'products', asin, errorId: noDataError(product) });
  }
  return { products, errors };
}

/** The units of one part of each kind, which are those of a single call for it. */
export const PART_UNITS = { reports: 1, products: 1, trends: 1 } as const;

/** Returns the errors of parts that could not be fetched. */
export function unfetched({ errors }: Record<string, unknown>): PartError[] {
  return (errors as PartError[]).filter(({ errorId }) => isFetchError(errorId));
}

/** Returns the units of the parts that could not be fetched, which are not charged. */
export function unfetchedUnits(data: Record<string, unknown>): number {
  return unfetched(data).reduce((units, { source }) => units + PART_UNITS[source], 0);
}

/** Returns when the provider last updated the oldest of some products, as ISO time; null if it does not say. */
export function updatedAt(products: Iterable<Product>): string | null {
  const time = oldestUpdate([...products]);
  return time === null ? null : new Date(time).toISOString().replace('.000Z', 'Z');
}
