import { z } from 'zod';
import { POOL_NAMES, type PoolName } from '../src/operations/pools.ts';
import { type ErrorRecord, errorRecordSchema } from '../src/platform/error-record.ts';
import type { Logger } from '../src/platform/log.ts';
import { listen } from '../src/platform/messages.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';

/** Says that a call has ended, for processes that wait for it. PostgreSQL has the authoritative state. */
export interface CompletionMessage {
  callId: string;
  pool: PoolName;
  state: 'settled' | 'released';
  unitsCharged: number;
  error: ErrorRecord | null;
  /** Run time, without waiting in the queue or for tokens; null if the job did not complete. */
  durationMs: number | null;
}

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

/** Publishes the end of a call to every gateway. */
export async function publishCompletion(
  redis: Redis,
  keys: RedisKeys,
  message: CompletionMessage,
): Promise<void> {
  await redis.publish(keys.jobsChannel, JSON.stringify(message));
}

const schema = z.object({
  callId: z.string(),
  pool: z.enum(POOL_NAMES),
  state: z.enum(['settled', 'released']),
  unitsCharged: z.number(),
  error: errorRecordSchema.nullable(),
  durationMs: z.number().nullable(),
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
  return listen(from, keys.jobsChannel, schema, listener);
}
