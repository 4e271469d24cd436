/** A class of work with its own queue, so that slow calls do not delay fast ones. */
export interface Pool {
  /** Jobs that one worker process runs concurrently. */
  concurrency: number;
  /** The longest time one job may run. */
  timeoutMs: number;
}

export const POOLS = {
  market: { concurrency: 32, timeoutMs: 60_000 },
  lightning: { concurrency: 2, timeoutMs: 120_000 },
  storefront: { concurrency: 8, timeoutMs: 120_000 },
  graph: { concurrency: 8, timeoutMs: 30_000 },
  keywords: { concurrency: 8, timeoutMs: 30_000 },
  trends: { concurrency: 4, timeoutMs: 60_000 },
  test: { concurrency: 8, timeoutMs: 120_000 },
} as const satisfies Record<string, Pool>;

export type PoolName = keyof typeof POOLS;

/**
 * Runs the test calls of all operations, so that they never occupy a place of live calls. Its jobs get data of the demo
 * provider.
 */
export const TEST_POOL = 'test' satisfies PoolName;

/** Feeds batches, runs schedules, delivers webhooks. The calls that it submits run in the pools above. */
export const BATCH_POOL = 'batch';

export const POOL_NAMES = Object.keys(POOLS) as [PoolName, ...PoolName[]];

/** The pools that a worker process can be configured to serve. */
export const WORKER_POOL_NAMES = [...POOL_NAMES, BATCH_POOL] as const;

export type WorkerPoolName = (typeof WORKER_POOL_NAMES)[number];

/** The longest time a job may wait in its queue. Later it could not finish before its deadline. */
export const QUEUE_ALLOWANCE_MS = 30_000;

/** The longest time an asynchronous call may wait in its queue. */
export const ASYNC_QUEUE_ALLOWANCE_MS = 600_000;

/** A synchronous request waits for the pool's timeout plus this time, then gets a 202. */
export const SYNC_PATIENCE_MS = 5_000;
