import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { POOL_NAMES, type PoolName } from '../src/operations/pools.ts';
import type { Logger } from '../src/platform/log.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { BACKGROUND_PRIORITY } from './fairness.ts';
import type { Payload } from './payload.ts';

export type Queues = Record<PoolName, Queue<Payload>>;

/**
 * The queues of all pools, for submitting. A job is removed when it has ended: the state of its call is in PostgreSQL and
 * the answer in the result store.
 */
export function openQueues(redis: Redis, keys: RedisKeys, log: Logger): Queues {
  const entries = POOL_NAMES.map((pool) => {
    const queue = new Queue<Payload>(pool, {
      connection: redis,
      prefix: keys.queuePrefix(pool),
      // The event stream has no readers: the end of a job is published on a channel of our own.
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: {
        // Only infrastructure faults throw out of a job; upstream's faults are handled, and end the call, inside it.
        attempts: 5,
        backoff: { type: 'exponential', delay: 500, jitter: 0.5 },
        removeOnComplete: true,
        removeOnFail: true,
        sizeLimit: 64 * 1024,
      },
    });
    queue.on('error', (error) => log.warn({ err: error, pool }, 'queue connection error'));
    return [pool, queue] as const;
  });
  return Object.fromEntries(entries) as Queues;
}

export async function closeQueues(queues: Queues): Promise<void> {
  await Promise.all(Object.values(queues).map((queue) => queue.close()));
}

const PRIORITY_STEP = 2 ** 32;

/** How many jobs wait that are neither first of all (priority 0) nor as far back as `priority`. */
export async function countMoreUrgent(redis: Redis, queue: Queue, priority: number): Promise<number> {
  return redis.zcount(queue.toKey('prioritized'), '-inf', `(${priority * PRIORITY_STEP}`);
}

/** How many jobs of its queue come before a waiting job; null when it does not wait. */
export async function countAhead(redis: Redis, queue: Queue, jobId: string): Promise<number | null> {
  const [first, place, later] = await Promise.all([
    redis.llen(queue.toKey('wait')),
    redis.lpos(queue.toKey('wait'), jobId),
    redis.zrank(queue.toKey('prioritized'), jobId),
  ]);
  // The list is taken from its end.
  if (place !== null) return first - 1 - place;
  return later === null ? null : first + later;
}

/** Adds the job of a call to its queue; a job that is there already stays as it is. */
export async function addJob(
  queues: Queues,
  pool: PoolName,
  payload: Payload,
  priority = payload.background ? BACKGROUND_PRIORITY : 0,
): Promise<void> {
  const { callId: jobId, operation } = payload;
  await queues[pool].add(operation, payload, priority === 0 ? { jobId } : { jobId, priority });
}
