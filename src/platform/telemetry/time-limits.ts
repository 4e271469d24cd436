import { Counter, type Registry } from 'prom-client';
import { outageOf } from '../outage.ts';

/** Receives each error of a store, and counts those of a time limit. */
type StoreErrorSink = (error: unknown) => void;

/** Counts the statements and commands of a process that a time limit has ended, by store. */
export function createTimeLimitMetrics(registry: Registry): Record<'postgresql' | 'redis', StoreErrorSink> {
  const reachedAt = new Counter({
    name: 'souk_store_time_limits_total',
    help: 'Statements, lock waits and commands that a time limit has ended.',
    labelNames: ['store'],
    registers: [registry],
  });
  const sinkFor = (store: string): StoreErrorSink => {
    const reached = reachedAt.labels(store);
    reached.inc(0);
    return (error) => {
      if (outageOf(error) === 'slow') reached.inc();
    };
  };
  return { postgresql: sinkFor('postgresql'), redis: sinkFor('redis') };
}

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
