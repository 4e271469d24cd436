import type { Source } from '../define.ts';
import { integer } from '../params/scalars.ts';

/** Data of the search-trend provider is kept for a day, because the provider often refuses. */
const KEPT_SECONDS = 86_400;

/** An input that says which data the caller accepts while the provider refuses. */
export interface StaleInput {
  /** The highest age in seconds. Without it, no data beyond the cache's hour are accepted. */
  maxStale?: number | undefined;
}

export function maxStale() {
  return integer({ min: 0, max: KEPT_SECONDS })
    .optional()
    .describe('Accepted age of data in seconds while the provider refuses');
}

/** Returns how long the data of a source is kept, and which age this caller accepts. */
export function staleUpTo({ maxStale }: StaleInput): Pick<Source, 'keptForMs' | 'staleForMs'> {
  const keptForMs = KEPT_SECONDS * 1000;
  return maxStale === undefined ? { keptForMs } : { keptForMs, staleForMs: maxStale * 1000 };
}
