import { Queue } from 'bullmq';
import { POOL_NAMES, type PoolName } from '../src/operations/pools.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { BACKGROUND_PRIORITY } from './fairness.ts';
import type { Payload } from './payload.ts';

export type Queues = Record<PoolName, Queue<Payload>>;

/**
 * Opens the queues of all pools for submission. A job is removed when it has ended: PostgreSQL has the state of its
 * call, and the answer store has the answer.
 */
export function openQueues(redis: Redis, keys: RedisKeys, log: Logger): Queues {
  const entries = POOL_NAMES.map((pool) => {
    const queue = new Queue<Payload>(pool, {
      connection: redis,
      prefix: keys.queuePrefix(pool),
      // The event stream has no readers, because the service publishes completion messages on its own channel.
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: {
        // Retries are for faults of the infrastructure only. Faults of upstream are handled in the job and end the
        // call.
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

/** Counts waiting jobs with a priority above 0 and below `priority`. */
export async function countMoreUrgent(redis: Redis, queue: Queue, priority: number): Promise<number> {
  return redis.zcount(queue.toKey('prioritized'), '-inf', `(${priority * PRIORITY_STEP}`);
}

/** Counts the jobs before a waiting job in its queue; null if the job is not waiting. */
export async function countAhead(redis: Redis, queue: Queue, jobId: string): Promise<number | null> {
  const [first, place, later] = await Promise.all([
    redis.llen(queue.toKey('wait')),
    redis.lpos(queue.toKey('wait'), jobId),
    redis.zrank(queue.toKey('prioritized'), jobId),
  ]);
  // Jobs are taken from the end of the list.
  if (place !== null) return first - 1 - place;
  return later === null ? null : first + later;
}

/** Adds the job of a call to its queue. A job that is already there does not change. */
export async function addJob(
  queues: Queues,
  pool: PoolName,
  payload: Payload,
  priority?: number,
): Promise<void> {
  const { name, data, opts } = jobOf(payload, priority);
  await queues[pool].add(name, data, opts);
}

/** Does the same for several jobs of a pool, in one round trip. */
export async function addJobs(queues: Queues, pool: PoolName, payloads: readonly Payload[]): Promise<void> {
  await queues[pool].addBulk(payloads.map((payload) => jobOf(payload)));
}

function jobOf(payload: Payload, priority = payload.background ? BACKGROUND_PRIORITY : 0) {
  const { callId: jobId, operation: name } = payload;
  return { name, data: payload, opts: priority === 0 ? { jobId } : { jobId, priority } };
}
