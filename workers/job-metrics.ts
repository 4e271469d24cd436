import { Histogram, type Registry } from 'prom-client';
import { ERRORS } from '../src/platform/errors.ts';
import { type CacheUse, createCacheMetrics } from '../src/platform/telemetry/cache-metrics.ts';
import { createTally } from '../src/platform/telemetry/tally.ts';
import type { Executor } from './executor.ts';

/** Counts what a worker does. */
export interface JobMetrics {
  answers: CacheUse;
  sources: CacheUse;
  tokensSpent(tokens: number): void;
  /** Measures jobs from outside. */
  measure(execute: Executor['execute']): Executor['execute'];
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export function createJobMetrics(registry: Registry): JobMetrics {
  const spent = createTally(registry, {
    name: 'souk_upstream_tokens_spent_total',
    help: 'Tokens the data provider has taken; what a call should cost where its answer did not say.',
    labels: [],
  })();
  const failuresBy = createTally(registry, {
    name: 'souk_job_failures_total',
    help: 'Jobs that ended with an error, by its code.',
    labels: ['pool', 'code'],
  });
  const durations = new Histogram({
    name: 'souk_job_duration_seconds',
    help: 'How long jobs ran, by how they ended: settled or released.',
    labelNames: ['pool', 'state'],
    buckets: SECONDS,
    registers: [registry],
  });
  const waits = new Histogram({
    name: 'souk_queue_wait_seconds',
    help: 'How long jobs waited in their queue before they were begun.',
    labelNames: ['pool'],
    buckets: SECONDS,
    registers: [registry],
  });

  return {
    ...createCacheMetrics(registry),
    tokensSpent(tokens) {
      spent.value += tokens;
    },
    measure: (execute) => async (attempt) => {
      const { pool, waitedMs } = attempt;
      if (waitedMs !== null) waits.observe({ pool }, waitedMs / 1000);
      const ended = await execute(attempt);
      const { state, error, durationMs } = ended;
      if (durationMs !== null) durations.observe({ pool, state }, durationMs / 1000);
      if (error) failuresBy(pool, ERRORS[error.kind].code).value += 1;
      return ended;
    },
  };
}
