import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';

/** The most queues that the jobs of a pool are spread over. */
export const MOST_QUEUE_SHARDS = 32;

/** A number of queues of a pool, of this process or of others, whose setting QUEUE_SHARDS differs. */
export interface QueueCount {
  count: number;
  /** When a process reported it last; Unix milliseconds. */
  reportedAt: number;
}

/** Returns which of so many queues has the jobs of an account. */
export function shardOf(accountId: number, count: number): number {
  return accountId % count;
}

/** Reports the number of this process. Must be repeated while it runs. @returns the numbers of all processes. */
export async function reportQueueCount(
  redis: Redis,
  keys: RedisKeys,
  count: number,
  now: number,
): Promise<QueueCount[]> {
  const [, reported] = await Promise.all([
    redis.zadd(keys.queueCounts, now, String(count)),
    redis.zrange(keys.queueCounts, '0', '-1', 'WITHSCORES'),
  ]);
  const counts: QueueCount[] = [];
  for (let i = 0; i + 1 < reported.length; i += 2)
    counts.push({ count: Number(reported[i]), reportedAt: Number(reported[i + 1]) });
  // A later version may have more.
  return counts.filter(
    (one) => Number.isInteger(one.count) && one.count > 0 && one.count <= MOST_QUEUE_SHARDS,
  );
}

/** Forgets a number that no process has any more and whose queues are empty. */
export async function forgetQueueCount(redis: Redis, keys: RedisKeys, count: number): Promise<void> {
  await redis.zrem(keys.queueCounts, String(count));
}
