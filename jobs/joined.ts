import type { Redis } from 'ioredis';
import { ASYNC_QUEUE_ALLOWANCE_MS, POOLS, type PoolName } from '../src/operations/pools.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { publishControl } from './control.ts';
import type { Queues } from './queues.ts';

/** Notes that a request waits for a job that another one has started: cancelling that one must not stop it any more. */
export async function noteJoined(
  redis: Redis,
  keys: RedisKeys,
  { pool, callId }: { pool: PoolName; callId: string },
): Promise<void> {
  await redis.set(keys.joined(callId), 1, 'PX', POOLS[pool].timeoutMs + ASYNC_QUEUE_ALLOWANCE_MS);
}

/** Somebody waits for a call of a batch now, so it goes first like any other. */
export async function hurry(
  deps: { redis: Redis; keys: RedisKeys; queues: Queues },
  { pool, callId }: { pool: PoolName; callId: string },
): Promise<void> {
  const job = await deps.queues[pool].getJob(callId);
  // It may have been taken, or have ended, in the meantime.
  await job?.changePriority({ priority: 0 }).catch(() => {});
  if (await job?.isDelayed()) await job?.promote().catch(() => {});
  await publishControl(deps.redis, deps.keys, { action: 'hurry', callId });
}
