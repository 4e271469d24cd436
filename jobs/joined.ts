import type { PoolName } from '../src/operations/pools.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { publishControl } from './control.ts';
import type { Queues } from './queues.ts';

/** Marks a job as joined by another request. Such a job cannot be cancelled. @param lifetimeMs until its call ends at the latest. */
export async function noteJoined(
  redis: Redis,
  keys: RedisKeys,
  callId: string,
  lifetimeMs: number,
): Promise<void> {
  await redis.set(keys.joined(callId), 1, 'PX', lifetimeMs);
}

/** Promotes the job of a batch's call because a request now waits for it: it gets the priority of other calls. */
export async function promote(
  deps: { redis: Redis; keys: RedisKeys; queues: Queues },
  call: { pool: PoolName; callId: string },
): Promise<void> {
  const job = await deps.queues.of(call.pool).getJob(call.callId);
  // The job may have been taken, or have ended, in the meantime.
  await job?.changePriority({ priority: 0 }).catch(() => {});
  if (await job?.isDelayed()) await job?.promote().catch(() => {});
  await publishControl(deps.redis, deps.keys, { action: 'promote', callId: call.callId });
}
