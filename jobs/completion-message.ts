import { z } from 'zod';
import { POOL_NAMES, type PoolName } from '../src/operations/pools.ts';
import { type ErrorRecord, errorRecordSchema } from '../src/platform/error-record.ts';
import type { Logger } from '../src/platform/log.ts';
import { listen } from '../src/platform/messages.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
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

/** The largest body in a message. Every gateway receives every message. */
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

/** Publishes the end of a call to every gateway. */
export async function publishCompletion(
  redis: Redis,
  keys: RedisKeys,
  message: CompletionMessage,
): Promise<void> {
  await redis.publish(keys.jobsChannel, JSON.stringify(message));
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

/**
 * Receives the ends of the calls of all accounts.
 * @param from.subscriber a Redis connection for subscriptions only.
 * @returns a function that ends it.
 */
export function onCompletion(
  from: { subscriber: Redis; log: Logger },
  keys: RedisKeys,
  listener: (message: CompletionMessage) => void,
): Promise<() => void> {
  return listen(from, keys.jobsChannel, completionSchema, listener);
}
