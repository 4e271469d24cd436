import { Counter, type Registry } from 'prom-client';
import { outageOf } from '../outage.ts';

/** Receives each error of a command on a Redis that holds only cached data. */
export type CacheErrorSink = (error: unknown) => void;

/** Counts the commands that failed on a Redis of cached data, so that data was fetched again or not kept, by reason. */
export function createCacheFailures(registry: Registry): CacheErrorSink {
  const failuresBy = new Counter({
    name: 'souk_cache_failures_total',
    help: 'Commands that failed on the Redis of CACHE_REDIS_URL, by reason: down, slow (a time limit) or refused.',
    labelNames: ['reason'],
    registers: [registry],
  });
  const cells = {
    down: failuresBy.labels('down'),
    slow: failuresBy.labels('slow'),
    refused: failuresBy.labels('refused'),
  };
  for (const cell of Object.values(cells)) cell.inc(0);
  return (error) => {
    cells[outageOf(error) ?? 'refused'].inc();
  };
}
