import type { Redis } from 'ioredis';
import { type Clock, every } from '../src/clock.ts';
import type { Logger } from '../src/log.ts';
import type { RedisKeys } from '../src/redis-keys.ts';
import type { JobEnded } from './job-ended.ts';
import { POOL_NAMES, POOLS, type PoolName } from './pools.ts';
import type { Queues } from './queues.ts';

/** How long a worker counts as alive after its last sign of life. */
export const WORKER_LIFETIME_MS = 15_000;

const SAMPLE_EVERY_MS = 1_000;

/** How much one job moves the mean duration of its pool. */
const SMOOTHING = 0.1;

/** An estimate, kept fresh in every gateway, of how long a job submitted now would wait. */
export interface Backlog {
  /** Milliseconds a new job of the pool would wait for a worker; Infinity while none is alive. */
  estimateWaitMs(pool: PoolName): number;
  sample(): Promise<void>;
  close(): Promise<void>;
}

interface PoolState {
  waiting: number;
  capacity: number;
  meanDurationMs: number;
}

export async function openBacklog(deps: {
  redis: Redis;
  keys: RedisKeys;
  queues: Queues;
  clock: Clock;
  log: Logger;
  onEnded(listener: (news: JobEnded) => void): void;
}): Promise<Backlog> {
  const { redis, keys, queues, clock, log } = deps;
  const pools = Object.fromEntries(
    POOL_NAMES.map((pool) => [pool, { waiting: 0, capacity: 0, meanDurationMs: 0 } satisfies PoolState]),
  ) as Record<PoolName, PoolState>;

  deps.onEnded(({ pool, durationMs }) => {
    const state = pools[pool];
    state.meanDurationMs += (durationMs - state.meanDurationMs) * SMOOTHING;
  });

  async function sample(): Promise<void> {
    await Promise.all(
      POOL_NAMES.map(async (pool) => {
        const [waiting, alive] = await Promise.all([
          queues[pool].getWaitingCount(),
          redis.zcount(keys.workers(pool), clock.now() - WORKER_LIFETIME_MS, '+inf'),
        ]);
        pools[pool].waiting = waiting;
        pools[pool].capacity = alive * POOLS[pool].concurrency;
      }),
    );
  }

  await sample();
  const stop = every(clock, SAMPLE_EVERY_MS, () =>
    sample().catch((error) => log.warn({ err: error }, 'sampling the queues failed')),
  );
  return {
    estimateWaitMs(pool) {
      const { waiting, capacity, meanDurationMs } = pools[pool];
      if (capacity === 0) return Number.POSITIVE_INFINITY;
      return (waiting * meanDurationMs) / capacity;
    },
    sample,
    close: stop,
  };
}

/** A worker process's sign of life in a pool, to be repeated well within WORKER_LIFETIME_MS. */
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

/** A worker process leaves: calls are no longer counted on it. */
export async function reportGone(
  redis: Redis,
  keys: RedisKeys,
  pool: PoolName,
  workerId: string,
): Promise<void> {
  await redis.zrem(keys.workers(pool), workerId);
}
