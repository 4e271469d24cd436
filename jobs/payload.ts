import { z } from 'zod';
import { queuedOperation } from '../src/operations/index.ts';

/** Raised when workers of the previous version cannot run the jobs any more. */
const VERSION = 1;

/**
 * A job in its queue: everything that a worker needs to run and end a call, without secrets. The BullMQ job id is
 * the call id.
 */
export const payloadSchema = z.object({
  version: z.literal(VERSION),
  callId: z.uuid(),
  accountId: z.int().positive(),
  operation: z.string(),
  /** Canonical input; the worker parses it again. */
  input: z.unknown(),
  unitsReserved: z.int().nonnegative(),
  /** What the account has paid for the partial answer that the call continues. */
  unitsPaid: z.int().nonnegative(),
  /** Unix milliseconds. A call that is still open at this time is released. */
  deadlineAt: z.number(),
  /** True for a call of a batch: no request waits for it, so it leaves tokens to calls with waiting requests. */
  background: z.boolean().default(false),
  /** The completion channel of the process that submitted the job; absent in jobs of an earlier release, and in those put back. */
  completionChannel: z.string().optional(),
  /** The span that submitted the job, as W3C `traceparent`, so that one trace shows request and job. */
  traceparent: z.string().optional(),
});

export type Payload = z.output<typeof payloadSchema>;

/** Returns whether this version can run a job, whose payload may come from another version of the service. */
export function isRunnable({ version, operation }: Partial<Payload>): boolean {
  return version === VERSION && operation !== undefined && queuedOperation(operation) !== undefined;
}

/** Returns the payload of a call's job, with only the fields that a worker needs. */
export function payloadOf(
  call: Omit<Payload, 'version' | 'traceparent' | 'completionChannel'>,
  { completionChannel, traceparent }: Pick<Payload, 'completionChannel' | 'traceparent'> = {},
): Payload {
  const { callId, accountId, operation, input, unitsReserved, unitsPaid, deadlineAt, background } = call;
  return {
    version: VERSION,
    callId,
    accountId,
    operation,
    input,
    unitsReserved,
    unitsPaid,
    deadlineAt,
    background,
    ...(completionChannel !== undefined && { completionChannel }),
    ...(traceparent !== undefined && { traceparent }),
  };
}
