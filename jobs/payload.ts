import { z } from 'zod';

/**
 * A job in its queue: everything a worker needs to run and end a call, and nothing secret. The BullMQ job id is the call
 * id.
 */
export const payloadSchema = z.object({
  version: z.literal(1),
  callId: z.uuid(),
  accountId: z.int().positive(),
  operation: z.string(),
  /** Canonical input; the worker parses it again. */
  input: z.unknown(),
  unitsReserved: z.int().nonnegative(),
  /** Unix milliseconds. The call is released by then. */
  deadlineAt: z.number(),
  /** A call of a batch: no request waits for it, so it leaves tokens to calls that requests wait for. */
  background: z.boolean().default(false),
  /** The span that submitted it, as W3C Trace Context writes it, so that one trace shows request and job. */
  traceparent: z.string().optional(),
});

export type Payload = z.output<typeof payloadSchema>;

/** The payload of a call's job: of the call, only what a worker needs. */
export function payloadOf(call: Omit<Payload, 'version' | 'traceparent'>, traceparent?: string): Payload {
  const { callId, accountId, operation, input, unitsReserved, deadlineAt, background } = call;
  const span = traceparent === undefined ? {} : { traceparent };
  return { version: 1, callId, accountId, operation, input, unitsReserved, deadlineAt, background, ...span };
}
