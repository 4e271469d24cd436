import { POOL_NAMES, POOLS, type PoolName } from '../src/operations/pools.ts';
import { type Clock, every } from '../src/platform/clock.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { CompletionMessage } from './completion-message.ts';
import { countMoreUrgent, type Queues } from './queues.ts';
import { readMeanDuration } from './run-times.ts';

/** How long a worker counts as alive after its last report. */
export const WORKER_LIFETIME_MS = 15_000;

const SAMPLE_EVERY_MS = 1_000;

/** The weight of one job in the mean duration of its pool. */
const SMOOTHING = 0.1;

/** Estimates, in every gateway, how long a job submitted now would wait. */
export interface Backlog {
  /**
   * Returns the milliseconds a new job of the pool would wait for a worker; Infinity if no worker is alive.
   * @param priority as in fairness.ts: a job waits for those of the same or a lower number.
   */
  estimateWaitMs(pool: PoolName, priority: number): Promise<number>;
  /** Returns the milliseconds that a job with this many jobs before it would wait. */
  estimateWaitBehindMs(pool: PoolName, ahead: number): number;
  /** Returns the mean run time of the pool's jobs; 0 before the first one has ended. */
  meanDurationMs(pool: PoolName): number;
  sample(): Promise<void>;
  close(): Promise<void>;
}

interface PoolState {
  /** Jobs of priority 0. */
  first: number;
  capacity: number;
  meanDurationMs: number;
}

export async function openBacklog(deps: {
  redis: Redis;
  keys: RedisKeys;
  queues: Queues;
  clock: Clock;
  log: Logger;
  onEnded(listener: (message: CompletionMessage) => void): void;
}): Promise<Backlog> {
  const { redis, keys, queues, clock, log } = deps;
  const pools = Object.fromEntries(
    POOL_NAMES.map((pool) => [pool, { first: 0, capacity: 0, meanDurationMs: 0 } satisfies PoolState]),
  ) as Record<PoolName, PoolState>;

  // The calls of this gateway, until a worker reports those of all; a worker of the previous release does not.
  deps.onEnded(({ pool, durationMs }) => {
    if (durationMs === null) return;
    const state = pools[pool];
    state.meanDurationMs += (durationMs - state.meanDurationMs) * SMOOTHING;
  });

  async function sample(): Promise<void> {
    await Promise.all(
      POOL_NAMES.map(async (pool) => {
        const [first, alive] = await Promise.all([
          queues[pool].getWaitingCount(),
          countAlive(redis, keys, pool, clock.now()),
        ]);
        pools[pool].first = first;
        pools[pool].capacity = alive * POOLS[pool].concurrency;
        const reportedMs = await readMeanDuration(redis, keys, pool);
        if (reportedMs !== null) pools[pool].meanDurationMs = reportedMs;
      }),
    );
  }

  await sample();
  const stop = every(clock, SAMPLE_EVERY_MS, () =>
    sample().catch((error) => log.warn({ err: error }, 'failed to sample the queues')),
  );

  function waitBehindMs(pool: PoolName, ahead: number): number {
    const { capacity, meanDurationMs } = pools[pool];
    return capacity === 0 ? Number.POSITIVE_INFINITY : (ahead * meanDurationMs) / capacity;
  }

  return {
    async estimateWaitMs(pool, priority) {
      // Only calls of accounts with several calls under way are queued behind others, so their place is looked up
      // for each call.
      const before = priority === 0 ? 0 : await countMoreUrgent(redis, queues[pool], priority + 1);
      return waitBehindMs(pool, pools[pool].first + before);
    },
    estimateWaitBehindMs: waitBehindMs,
    meanDurationMs: (pool) => pools[pool].meanDurationMs,
    sample,
    close: stop,
  };
}

/** Counts the live worker processes of a pool. */
export async function countAlive(
  redis: Redis,
  keys: RedisKeys,
  pool: PoolName,
  now: number,
): Promise<number> {
  return redis.zcount(keys.workers(pool), now - WORKER_LIFETIME_MS, '+inf');
}

/** Reports that a worker process serves a pool. Must be repeated well within WORKER_LIFETIME_MS. */
export async function reportAlive(
  redis: Redis,
  keys: RedisKeys,
  pool: PoolName,
  workerId: string,
  now: number,
): Promise<void> {
  await redis
    .multi()
    .zadd(keys.workers(pool), now, workerId)
    .zremrangebyscore(keys.workers(pool), '-inf', now - 10 * WORKER_LIFETIME_MS)
    .pexpire(keys.workers(pool), 10 * WORKER_LIFETIME_MS)
    .exec();
}

/** Reports that a worker process stops serving a pool. */
export async function reportGone(
  redis: Redis,
  keys: RedisKeys,
  pool: PoolName,
  workerId: string,
): Promise<void> {
  await redis.zrem(keys.workers(pool), workerId);
}
