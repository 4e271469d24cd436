import { POOL_NAMES, POOLS, type PoolName, type WorkerPoolName } from '../src/operations/pools.ts';
import { type Clock, every } from '../src/platform/clock.ts';
import { HOUR_MS } from '../src/platform/durations.ts';
import { SoukError } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import type { CallEvent } from '../src/platform/telemetry/call-events.ts';
import { writeBehind } from '../src/platform/write-behind.ts';
import type { CompletionMessage } from './end-call.ts';
import { countMoreUrgent, type Queues } from './queues.ts';

/** How long a worker counts as alive after its last report. */
export const WORKER_LIFETIME_MS = 15_000;

const SAMPLE_EVERY_MS = 1_000;

interface PoolState {
  /** Waiting jobs of priority 0. */
  first: number;
  capacity: number;
  meanDurationMs: number;
}

export type Backlog = Awaited<ReturnType<typeof openBacklog>>;

/** Estimates, in every gateway, how long a job submitted now would wait. */
export async function openBacklog(deps: {
  redis: Redis;
  keys: RedisKeys;
  queues: Queues;
  clock: Clock;
  log: Logger;
  onEnded(listener: (message: CompletionMessage) => void): void;
}) {
  const { redis, keys, queues, clock, log } = deps;
  const pools = Object.fromEntries(
    POOL_NAMES.map((pool) => [pool, { first: 0, capacity: 0, meanDurationMs: 0 } satisfies PoolState]),
  ) as Record<PoolName, PoolState>;

  // The calls of this gateway, until a worker reports those of all.
  deps.onEnded(({ pool, durationMs }) => {
    if (durationMs === null) return;
    const state = pools[pool];
    state.meanDurationMs += (durationMs - state.meanDurationMs) * SMOOTHING;
  });

  async function sample(): Promise<void> {
    await Promise.all(
      POOL_NAMES.map(async (pool) => {
        const { meanDurationMs, ...present } = await readPool(deps, pool, clock.now());
        Object.assign(pools[pool], present, meanDurationMs !== null && { meanDurationMs });
      }),
    );
  }

  await sample();
  const stop = every(clock, SAMPLE_EVERY_MS, () =>
    sample().catch((error) => log.warn({ err: error }, 'failed to sample the queues')),
  );

  const waitBehindMs = (pool: PoolName, ahead: number) => waitOf(pools[pool], ahead);

  return {
    /**
     * Returns the milliseconds a new job of the pool would wait for a worker; Infinity if no worker is alive now.
     * @param priority as in `queues.ts`: a job waits for those of the same or a lower number.
     */
    async estimateWaitMs(pool: PoolName, priority: number): Promise<number> {
      // A worker may have reported since the last sample, such as after Redis has lost its data.
      if (pools[pool].capacity === 0) pools[pool].capacity = await capacityOf(redis, keys, pool, clock.now());
      // Only the calls of accounts with several calls under way are queued behind others, so only their position in the
      // queue is looked up for each call.
      const before = priority === 0 ? 0 : await countMoreUrgent(redis, queues.of(pool), priority + 1);
      return waitBehindMs(pool, pools[pool].first + before);
    },
    /** Returns the milliseconds that a job with this many jobs before it would wait. */
    estimateWaitBehindMs: waitBehindMs,
    /** Returns the mean run time of the pool's jobs; 0 before the first one has ended. */
    meanDurationMs: (pool: PoolName) => pools[pool].meanDurationMs,
    sample,
    close: stop,
  };
}

interface QueueStores {
  redis: Redis;
  keys: RedisKeys;
  queues: Queues;
}

/** Reads a pool. @property meanDurationMs null: no worker has reported it. */
async function readPool({ redis, keys, queues }: QueueStores, pool: PoolName, now: number) {
  const [first, capacity, meanDurationMs] = await Promise.all([
    redis.llen(queues.of(pool).toKey('wait')),
    capacityOf(redis, keys, pool, now),
    readMeanDuration(redis, keys, pool),
  ]);
  return { first, capacity, meanDurationMs };
}

function waitOf({ capacity, meanDurationMs }: Omit<PoolState, 'first'>, ahead: number): number {
  return capacity === 0 ? Number.POSITIVE_INFINITY : (ahead * meanDurationMs) / capacity;
}

/** Returns the milliseconds that a new job of the highest priority would wait; Infinity if the pool has no worker. */
export async function expectedWaitMs(stores: QueueStores, pool: PoolName, now: number): Promise<number> {
  const { first, capacity, meanDurationMs } = await readPool(stores, pool, now);
  return waitOf({ capacity, meanDurationMs: meanDurationMs ?? 0 }, first);
}

/** Returns how many jobs of a pool its live workers run at the same time. */
async function capacityOf(redis: Redis, keys: RedisKeys, pool: PoolName, now: number): Promise<number> {
  return (await countAlive(redis, keys, pool, now)) * POOLS[pool].concurrency;
}

/** Counts the live worker processes of a pool. */
export async function countAlive(
  redis: Redis,
  keys: RedisKeys,
  pool: WorkerPoolName,
  now: number,
): Promise<number> {
  return redis.zcount(keys.workers(pool), now - WORKER_LIFETIME_MS, '+inf');
}

/**
 * Reports that a worker process serves a pool. Must be repeated well within WORKER_LIFETIME_MS. Reports have no time to
 * live in Redis, because they expire by the clock of the service: each report removes the expired ones.
 */
export async function reportAlive(
  redis: Redis,
  keys: RedisKeys,
  pool: WorkerPoolName,
  workerId: string,
  now: number,
): Promise<void> {
  await redis
    .multi()
    .zadd(keys.workers(pool), now, workerId)
    .zremrangebyscore(keys.workers(pool), '-inf', now - 10 * WORKER_LIFETIME_MS)
    .exec();
}

/** Reports that a worker process stops serving a pool. */
export async function reportGone(
  redis: Redis,
  keys: RedisKeys,
  pool: WorkerPoolName,
  workerId: string,
): Promise<void> {
  await redis.zrem(keys.workers(pool), workerId);
}

/** Returns the refusal of a call that would wait for longer than is allowed, or null. */
export function busyError(waitMs: number, allowedMs: number): SoukError | null {
  if (waitMs <= allowedMs) return null;
  const message = 'The queue is too long to answer this call in time; retry later.';
  return Number.isFinite(waitMs)
    ? new SoukError('BUSY', { message, retryAfterSeconds: Math.ceil((waitMs - allowedMs) / 1000) })
    : new SoukError('BUSY', { message: 'No worker is available for this call.', retryAfterSeconds: 10 });
}

/** The weight of one job in the mean duration of its pool. */
const SMOOTHING = 0.1;

const REPORT_EVERY_MS = 3_000;

/** How long a report is used after the last job of a pool. */
const LIFETIME_MS = HOUR_MS;

/** Reports the mean run times of the jobs of a worker, by pool, to all gateways, because no gateway receives the ends of all jobs. */
export function createRunTimes(deps: { redis: Redis; keys: RedisKeys; clock: Clock; log: Logger }) {
  const { redis, keys, clock, log } = deps;
  const means = new Map<string, number>();
  const reports = writeBehind<string, number>(clock, log, {
    what: 'run times',
    everyMs: REPORT_EVERY_MS,
    most: Number.POSITIVE_INFINITY,
    write: (changed) =>
      Promise.all(
        [...changed].map(([pool, mean]) => redis.set(keys.meanDuration(pool), mean, 'PX', LIFETIME_MS)),
      ),
  });

  return {
    onEvent(event: CallEvent): void {
      if (event.type !== 'job.ended') return;
      const { pool, durationMs } = event;
      const before = means.get(pool);
      const mean = before === undefined ? durationMs : before + (durationMs - before) * SMOOTHING;
      means.set(pool, mean);
      reports.add(pool, mean);
      // Gateways know nothing about a pool before its first job has ended.
      if (before === undefined) void reports.flush();
    },
    close: reports.close,
  };
}

/** Returns the mean run time of the jobs of a pool; null if no worker has reported it. */
export async function readMeanDuration(redis: Redis, keys: RedisKeys, pool: string): Promise<number | null> {
  const reported = await redis.get(keys.meanDuration(pool));
  return reported === null ? null : Number(reported);
}
