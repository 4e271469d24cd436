import { type Job, Queue } from 'bullmq';
import { group } from 'd3-array';
import { POOL_NAMES, type PoolName } from '../src/operations/pools.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import { BACKGROUND_PRIORITY } from './fairness.ts';
import type { Payload } from './payload.ts';
import { forgetQueueCount, type QueueCount, reportQueueCount, shardOf } from './queue-counts.ts';

/** One of the queues of a pool. */
export type PoolQueue = Queue<Payload>;

/**
 * The queues of all pools. The jobs of a pool are spread over several queues by account: all jobs of an account are in the same
 * queue. After the setting QUEUE_SHARDS has changed, older jobs may be in other queues.
 */
export interface Queues {
  /** Returns the queue to which the jobs of an account are added. */
  of(pool: PoolName, accountId: number): PoolQueue;
  /** Returns the queues that may hold a job of an account: the one of this process first, then those of other numbers of queues. */
  thatMayHold(pool: PoolName, accountId: number): PoolQueue[];
  /** Returns all queues of a pool, by their numbers. The first ones are those to which jobs are added. */
  all(pool: PoolName): PoolQueue[];
  /** Returns how many queues of each pool receive jobs from any process. */
  inUse(now: number): number;
  /** Reports the number of queues of this process and learns those of others. Must be repeated while it runs. */
  refresh(now: number): Promise<void>;
  /** Forgets numbers of queues that were in use long ago, if their queues are empty. */
  forgetUnused(now: number): Promise<void>;
  waitUntilReady(): Promise<void>;
  close(): Promise<void>;
}

/** A process that has not reported its number of queues for this long adds no more jobs. */
const IN_USE_MS = 60_000;

/** Jobs are looked up under an earlier number of queues for this long. */
const KNOWN_MS = 7 * 86_400_000;

/** @param count into how many queues this process spreads the jobs of a pool. */
export function openQueues(redis: Redis, keys: RedisKeys, log: Logger, count = 1): Queues {
  const opened = Object.fromEntries(POOL_NAMES.map((pool) => [pool, [] as PoolQueue[]])) as Record<
    PoolName,
    PoolQueue[]
  >;
  /** Of other processes, now or earlier. */
  let others: QueueCount[] = [];

  function queueOf(pool: PoolName, shard: number): PoolQueue {
    opened[pool][shard] ??= openQueue(redis, keys, log, pool, shard);
    return opened[pool][shard];
  }
  const range = (pool: PoolName, end: number) =>
    Array.from({ length: end }, (_, shard) => queueOf(pool, shard));
  const all = (pool: PoolName) => range(pool, Math.max(count, ...others.map((other) => other.count)));
  const ours = POOL_NAMES.flatMap((pool) => range(pool, count));

  return {
    of: (pool, accountId) => queueOf(pool, shardOf(accountId, count)),
    thatMayHold(pool, accountId) {
      const counts = [count, ...others.map((other) => other.count)];
      return [...new Set(counts.map((one) => shardOf(accountId, one)))].map((shard) => queueOf(pool, shard));
    },
    all,
    inUse: (now) => Math.max(count, ...others.filter(isInUse(now)).map((other) => other.count)),
    async refresh(now) {
      const reported = await reportQueueCount(redis, keys, count, now);
      others = reported.filter((other) => other.count !== count);
    },
    async forgetUnused(now) {
      for (const old of others.filter(({ reportedAt }) => reportedAt < now - KNOWN_MS)) {
        const needed = Math.max(
          count,
          ...others.filter((other) => other !== old).map((other) => other.count),
        );
        const beyond = POOL_NAMES.flatMap((pool) => range(pool, old.count).slice(needed));
        const held = await Promise.all(beyond.map(holdsJobs));
        if (!held.includes(true)) await forgetQueueCount(redis, keys, old.count);
      }
    },
    async waitUntilReady() {
      await Promise.all(ours.map((queue) => queue.waitUntilReady()));
    },
    async close() {
      await Promise.all(Object.values(opened).flatMap((queues) => queues.map((queue) => queue.close())));
    },
  };
}

const isInUse = (now: number) => (count: QueueCount) => count.reportedAt > now - IN_USE_MS;

/**
 * Opens a queue for submission. A job is removed when it has ended: PostgreSQL has the state of its call, and the answer store
 * has the answer.
 */
function openQueue(redis: Redis, keys: RedisKeys, log: Logger, pool: PoolName, shard: number): PoolQueue {
  const queue = new Queue<Payload>(queueName(pool, shard), {
    connection: redis,
    prefix: keys.queuePrefix(pool, shard),
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
  queue.on('error', (error) => log.warn({ err: error, pool, shard }, 'queue connection error'));
  return queue;
}

/** Returns the name of a queue: that of its pool, and for further queues their number. */
export function queueName(pool: PoolName, shard: number): string {
  return shard === 0 ? pool : `${pool}-${shard}`;
}

/** Returns whether a queue has jobs in any state. */
export async function holdsJobs(queue: PoolQueue): Promise<boolean> {
  return (await queue.getJobCountByTypes('wait', 'prioritized', 'active', 'delayed')) > 0;
}

/** Finds the job of a call that has not ended, with its queue. */
export async function findJob(
  queues: Queues,
  { pool, accountId, callId }: { pool: PoolName; accountId: number; callId: string },
): Promise<{ job: Job<Payload>; queue: PoolQueue } | null> {
  for (const queue of queues.thatMayHold(pool, accountId)) {
    const job = await queue.getJob(callId);
    if (job) return { job, queue };
  }
  return null;
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

/** Adds the job of a call to the queue of its account. A job that is already there does not change. */
export async function addJob(
  queues: Queues,
  pool: PoolName,
  payload: Payload,
  priority?: number,
): Promise<void> {
  const { name, data, opts } = jobOf(payload, priority);
  await queues.of(pool, payload.accountId).add(name, data, opts);
}

/** Does the same for several jobs of a pool, in one round trip for each queue. */
export async function addJobs(queues: Queues, pool: PoolName, payloads: readonly Payload[]): Promise<void> {
  const byQueue = group(payloads, ({ accountId }) => queues.of(pool, accountId));
  await Promise.all(
    [...byQueue].map(([queue, some]) => queue.addBulk(some.map((payload) => jobOf(payload)))),
  );
}

function jobOf(payload: Payload, priority = payload.background ? BACKGROUND_PRIORITY : 0) {
  const { callId: jobId, operation: name } = payload;
  return { name, data: payload, opts: priority === 0 ? { jobId } : { jobId, priority } };
}
