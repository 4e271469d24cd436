import type { Product } from './product.ts';
import { SERIES_COUNT } from './series.ts';

/** Arrays of the stats with one entry for each series, and what an entry without data holds. */
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

/** The product with csv and stats brought to the number of series our interface promises. */
export function normaliseProduct(product: Product): Product {
  const result = { ...product };
  if (Array.isArray(product.csv)) result.csv = padded(product.csv, null);
  if (product.stats) {
    result.stats = { ...product.stats };
    for (const [field, nothing] of Object.entries(STATS_ARRAYS)) {
      const values = product.stats[field];
      if (Array.isArray(values)) result.stats[field] = padded(values, nothing);
    }
  }
  return result;
}

function padded<T, N>(values: readonly T[], nothing: N): (T | N)[] {
  const missing = SERIES_COUNT - values.length;
  return missing > 0 ? [...values, ...Array<N>(missing).fill(nothing)] : [...values];
}
