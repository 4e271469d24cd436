import { Histogram, type Registry } from 'prom-client';
import { ERRORS } from '../errors.ts';
import type { CallEventSink } from './call-events.ts';
import { createTally } from './tally.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Metrics of workers. */
export function createJobMetrics(registry: Registry): CallEventSink {
  const spent = createTally(registry, {
    name: 'souk_upstream_tokens_spent_total',
    help: 'Tokens charged by the data provider; the expected cost if an answer did not contain it.',
    labels: [],
  })();
  const failuresBy = createTally(registry, {
    name: 'souk_job_failures_total',
    help: 'Jobs that ended with an error, by its code.',
    labels: ['pool', 'code'],
  });
  const durations = new Histogram({
    name: 'souk_job_duration_seconds',
    help: 'Run time of jobs, by outcome: settled or released.',
    labelNames: ['pool', 'state'],
    buckets: SECONDS,
    registers: [registry],
  });
  const waits = new Histogram({
    name: 'souk_queue_wait_seconds',
    help: 'Time that jobs waited in their queue.',
    labelNames: ['pool'],
    buckets: SECONDS,
    registers: [registry],
  });

  return (event) => {
    switch (event.type) {
      case 'job.started':
        if (event.waitedMs !== null) waits.observe({ pool: event.pool }, event.waitedMs / 1000);
        break;
      case 'job.ended': {
        const { pool, state, error, durationMs } = event;
        durations.observe({ pool, state }, durationMs / 1000);
        if (error) failuresBy(pool, ERRORS[error].code).value += 1;
        break;
      }
      case 'tokens.spent':
        spent.value += event.tokens;
        break;
      default:
    }
  };
}
