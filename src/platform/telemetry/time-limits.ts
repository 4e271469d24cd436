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
