import { payloadSchema } from '../jobs/payload.ts';
import { type Tracing, traced } from '../src/platform/telemetry/tracing.ts';
import type { Executor } from './executor.ts';

/** Shows each attempt at a job as a span, in the trace of the request that submitted it. */
export function tracedExecute(execute: Executor['execute'], tracing: Tracing): Executor['execute'] {
  return (attempt) => {
    const { data: payload } = payloadSchema.safeParse(attempt.data);
    const { pool, number } = attempt;
    const attributes = { 'souk.pool': pool, 'souk.attempt': number, 'souk.job_id': payload?.callId ?? '' };
    const name = `job ${payload?.operation ?? pool}`;
    const options = { name, kind: 'consumer', parent: payload?.traceparent, attributes } as const;
    return traced(tracing, options, async (span) => {
      const ended = await execute(attempt);
      span?.set({ 'souk.state': ended.state });
      if (ended.error) span?.fail(ended.error.kind);
      return ended;
    });
  };
}
