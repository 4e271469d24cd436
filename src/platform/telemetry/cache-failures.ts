import type { Registry } from 'prom-client';
import { outageOf } from '../outage.ts';
import { createTally } from './tally.ts';

/** Receives each error of a command on a Redis that holds only cached data. */
export type CacheErrorSink = (error: unknown) => void;

/** Counts the commands that failed on a Redis of cached data, so that data was fetched again or not kept, by reason. */
export function createCacheFailures(registry: Registry): CacheErrorSink {
  const failuresBy = createTally(registry, {
    name: 'souk_cache_failures_total',
    help: 'Commands that failed on the Redis of CACHE_REDIS_URL, by reason: away, slow (a time limit) or refused.',
    labels: ['reason'],
  });
  const cells = { away: failuresBy('away'), slow: failuresBy('slow'), refused: failuresBy('refused') };
  return (error) => {
    cells[outageOf(error) ?? 'refused'].value += 1;
  };
}
