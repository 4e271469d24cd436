/** A class of work with its own queue, so that slow calls do not delay fast ones. */
interface Pool {
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
 * Runs the test calls of all operations, so that they never occupy a slot of live calls. Its jobs get data of the demo
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

/** The name of the demo provider at any address. */
export const DEMO = 'demo';

/**
 * The providers of an installation, each by a name that no other has. Identities of cached data contain the name, so that
 * data of one provider is never shown for another.
 */
export interface Providers {
  /** Products, categories, sellers and deals. */
  products: string;
  /** Search trends. */
  trends: string;
  /** Weekly search-terms reports. */
  reports: string;
}

/** The names under which test calls get data of the demo provider, which are never shown for those of the installation. */
export const TEST_PROVIDERS: Providers = { products: 'test', trends: 'test', reports: 'test' };

export const PROVIDER_KINDS = ['products', 'trends', 'reports'] as const satisfies (keyof Providers)[];

/** The kind of data that operations request, by the group in their names. Other groups have no provider. */
const KIND_OF_GROUP: Readonly<Record<string, keyof Providers>> = {
  market: 'products',
  trends: 'trends',
  aba: 'reports',
};

/** Returns the provider of an operation's data. @throws if the operation has none. */
export function providerOf(providers: Providers, { name }: { name: string }): string {
  const kind = KIND_OF_GROUP[name.split('.')[0] ?? ''];
  if (!kind) throw new Error(`${name} has no provider`);
  return providers[kind];
}
