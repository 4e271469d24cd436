import { z } from 'zod';

/**
 * A job in its queue: everything that a worker needs to run and end a call, without secrets. The BullMQ job id is
 * the call id.
 */
export const payloadSchema = z.object({
  version: z.literal(1),
  callId: z.uuid(),
  accountId: z.int().positive(),
  operation: z.string(),
  /** Canonical input; the worker parses it again. */
  input: z.unknown(),
  unitsReserved: z.int().nonnegative(),
  /** Unix milliseconds. A call that is still open at this time is released. */
  deadlineAt: z.number(),
  /** True for a call of a batch: no request waits for it, so it leaves tokens to calls with waiting requests. */
  background: z.boolean().default(false),
  /** The span that submitted the job, as W3C `traceparent`, so that one trace shows request and job. */
  traceparent: z.string().optional(),
});

export type Payload = z.output<typeof payloadSchema>;

/** Returns the payload of a call's job, with only the fields that a worker needs. */
export function payloadOf(call: Omit<Payload, 'version' | 'traceparent'>, traceparent?: string): Payload {
  const { callId, accountId, operation, input, unitsReserved, deadlineAt, background } = call;
  const span = traceparent === undefined ? {} : { traceparent };
  return { version: 1, callId, accountId, operation, input, unitsReserved, deadlineAt, background, ...span };
}
