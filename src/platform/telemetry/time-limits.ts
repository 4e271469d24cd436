import type { Registry } from 'prom-client';
import { outageOf } from '../outage.ts';
import { createTally } from './tally.ts';

/** Receives each error of a store, and counts those of a time limit. */
export type StoreErrorSink = (error: unknown) => void;

/** Counts the statements and commands of a process that a time limit has ended, by store. */
export function createTimeLimitMetrics(registry: Registry): Record<'postgresql' | 'redis', StoreErrorSink> {
  const reachedAt = createTally(registry, {
    name: 'souk_store_time_limits_total',
    help: 'Statements, lock waits, connection attempts and commands that a time limit has ended.',
    labels: ['store'],
  });
  const sinkFor = (store: string): StoreErrorSink => {
    const reached = reachedAt(store);
    return (error) => {
      if (outageOf(error) === 'slow') reached.value += 1;
    };
  };
  return { postgresql: sinkFor('postgresql'), redis: sinkFor('redis') };
}
