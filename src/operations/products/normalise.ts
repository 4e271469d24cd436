import type { Product } from './product.ts';
import { SERIES_COUNT } from './series.ts';

/** Arrays of the stats with one entry for each series, and the value of an entry without data. */
const STATS_ARRAYS = {
  current: -1,
  avg: -1,
  avg30: -1,
  avg90: -1,
  avg180: -1,
  avg365: -1,
  atIntervalStart: -1,
  min: null,
  max: null,
  minInInterval: null,
  maxInInterval: null,
  isLowest: false,
  isLowest90: false,
  outOfStockPercentageInInterval: -1,
  outOfStockPercentage30: -1,
  outOfStockPercentage90: -1,
  outOfStockPercentage180: -1,
  outOfStockPercentage365: -1,
} as const;

/** The types of the fields that this code reads. */
const KINDS: Record<string, (value: unknown) => boolean> = {
  title: isText,
  imagesCSV: isText,
  csv: Array.isArray,
  liveOffersOrder: Array.isArray,
  offers: isListOfRecords,
  images: isListOfRecords,
  stats: isRecord,
  salesRanks: isRecord,
  reviews: isRecord,
};

/** Returns the products of an answer of the provider, normalised. */
export function productsIn(answer: unknown): Product[] {
  const { products } = (isRecord(answer) ? answer : {}) as { products?: unknown };
  return Array.isArray(products) ? products.filter(isProduct).map(normaliseProduct) : [];
}

/** Returns a function that finds a product in an answer. */
export function productOf(asin: string): (answer: unknown) => Product | undefined {
  return (answer) => productsIn(answer).find((product) => product.asin === asin);
}

/** Returns whether an element of an answer is a product. */
function isProduct(value: unknown): value is Product {
  return isRecord(value) && typeof (value as Product).asin === 'string';
}

/**
 * Returns the product with csv and stats of the documented number of series. A field of an unexpected type becomes null,
 * so that one malformed field does not fail the whole answer.
 */
export function normaliseProduct(product: Product): Product {
  const result = { ...product };
  for (const [field, isRightKind] of Object.entries(KINDS)) {
    if (field in result && !isRightKind(result[field])) result[field] = null;
  }
  const { csv, stats, salesRanks } = result;
  if (csv) result.csv = padded(csv.map(listOrNull), null);
  if (salesRanks) {
    result.salesRanks = Object.fromEntries(
      Object.entries(salesRanks).map(([category, series]) => [category, listOrNull(series)]),
    );
  }
  if (stats) {
    result.stats = { ...stats };
    for (const [field, nothing] of Object.entries(STATS_ARRAYS)) {
      const values = stats[field];
      if (Array.isArray(values)) result.stats[field] = padded(values, nothing);
    }
  }
  return result;
}

function padded<T, N>(values: readonly T[], nothing: N): (T | N)[] {
  const missing = SERIES_COUNT - values.length;
  return missing > 0 ? [...values, ...Array<N>(missing).fill(nothing)] : [...values];
}

function listOrNull<T>(value: readonly T[] | null): T[] | null {
  return Array.isArray(value) ? (value as T[]) : null;
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOfRecords(value: unknown): boolean {
  return Array.isArray(value) && value.every(isRecord);
}
