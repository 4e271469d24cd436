/** A class of work with its own queue, so that a slow kind never holds up a fast one. */
export interface Pool {
  /** Jobs one worker process runs at a time. */
  concurrency: number;
  /** How long one job may run. */
  timeoutMs: number;
}

export const POOLS = {
  market: { concurrency: 32, timeoutMs: 60_000 },
  lightning: { concurrency: 2, timeoutMs: 120_000 },
  storefront: { concurrency: 8, timeoutMs: 120_000 },
  graph: { concurrency: 8, timeoutMs: 30_000 },
  keywords: { concurrency: 8, timeoutMs: 30_000 },
  trends: { concurrency: 4, timeoutMs: 60_000 },
} as const satisfies Record<string, Pool>;

export type PoolName = keyof typeof POOLS;

/** Feeds batches, runs schedules, delivers webhooks. What it feeds are calls of the pools above. */
export const BATCH_POOL = 'batch';

export const POOL_NAMES = Object.keys(POOLS) as [PoolName, ...PoolName[]];

/** What a worker process can be told to do. */
export const WORKER_POOL_NAMES = [...POOL_NAMES, BATCH_POOL] as const;

export type WorkerPoolName = (typeof WORKER_POOL_NAMES)[number];

/** How long a job may wait in its queue before it can no longer be done in time. */
export const QUEUE_ALLOWANCE_MS = 30_000;

/** The same for a caller who asked to be answered later. */
export const ASYNC_QUEUE_ALLOWANCE_MS = 600_000;

/** How much longer than the pool's timeout a synchronous caller is kept waiting before it gets a 202. */
export const SYNC_PATIENCE_MS = 5_000;
