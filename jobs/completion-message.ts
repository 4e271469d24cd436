import { z } from 'zod';
import { POOL_NAMES, type PoolName } from '../src/operations/pools.ts';
import { type ErrorRecord, errorRecordSchema } from '../src/platform/error-record.ts';
import { decodeAnswer, encodeAnswer } from '../src/results/answer.ts';
import type { Answer } from '../src/results/answer-store.ts';

/** Says that a call has ended, for processes that wait for it. PostgreSQL has the authoritative state. */
export interface CompletionMessage {
  callId: string;
  pool: PoolName;
  state: 'settled' | 'released';
  unitsCharged: number;
  error: ErrorRecord | null;
  /** Run time, without waiting in the queue or for tokens; null if the job did not complete. */
  durationMs: number | null;
  /** A small answer as stored, in base64, so that a gateway need not load it. */
  answer?: string | undefined;
}

/** The largest body in a message. */
const LARGEST_ANSWER_BYTES = 2_048;

/** A released call has an error, a settled one has none. */
export function completionMessage(
  {
    callId,
    pool,
    error,
    unitsCharged,
  }: Pick<CompletionMessage, 'callId' | 'pool' | 'error' | 'unitsCharged'>,
  durationMs: number | null = null,
): CompletionMessage {
  return { callId, pool, state: error ? 'released' : 'settled', unitsCharged, error, durationMs };
}

/** Adds the answer of a call to its message, if it is small. */
export function withAnswer(message: CompletionMessage, { meta, body }: Answer): CompletionMessage {
  if (body.length > LARGEST_ANSWER_BYTES) return message;
  return { ...message, answer: encodeAnswer({ meta, body }).toString('base64') };
}

/** Returns the answer in a message, if there is one that this version can read. Otherwise it has to be loaded. */
export function answerIn({ answer }: CompletionMessage): Answer | null {
  if (answer === undefined) return null;
  try {
    const { meta, body } = decodeAnswer(Buffer.from(answer, 'base64'));
    return body && { meta, body };
  } catch {
    return null;
  }
}

export const completionSchema = z.object({
  callId: z.string(),
  pool: z.enum(POOL_NAMES),
  state: z.enum(['settled', 'released']),
  unitsCharged: z.number(),
  error: errorRecordSchema.nullable(),
  durationMs: z.number().nullable(),
  answer: z.string().optional(),
});
