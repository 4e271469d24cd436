import { z } from 'zod';

/**
 * What travels in a queue: everything a worker needs to do a call and end it, and nothing secret. The BullMQ job id is
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
  /** Unix milliseconds after which nobody wants the answer any more. */
  deadlineAt: z.number(),
  /** A call of a batch: nobody waits for it, so it leaves tokens to those somebody waits for. */
  background: z.boolean().default(false),
  /** The span that submitted it, as W3C Trace Context writes it, so that one trace shows request and job. */
  traceparent: z.string().optional(),
});

export type Payload = z.output<typeof payloadSchema>;

/** The payload of a call's job: of the call, only what a worker needs. */
export function payloadOf(
  call: Omit<Payload, 'version' | 'traceparent'>,
  traceparent: string | undefined = undefined,
): Payload {
  const { callId, accountId, operation, input, unitsReserved, deadlineAt, background } = call;
  const span = traceparent === undefined ? {} : { traceparent };
  return { version: 1, callId, accountId, operation, input, unitsReserved, deadlineAt, background, ...span };
}
