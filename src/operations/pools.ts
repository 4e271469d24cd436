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
  // One at a time, because identical exports that start together would each write their file.
  exports: { concurrency: 1, timeoutMs: 900_000 },
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

/** The longest time limit of a pool for which a synchronous request waits. */
export const LONGEST_WAIT_MS = 120_000;

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

export type ProviderKind = keyof Providers;

/** The kinds of data that operations join, by the group in their names. Other groups have no provider. */
const KINDS_OF_GROUP: Readonly<Record<string, readonly [ProviderKind, ...ProviderKind[]]>> = {
  market: ['products'],
  trends: ['trends'],
  aba: ['reports'],
  research: ['products', 'reports', 'trends'],
};

function kindsOf({ name }: { name: string }): readonly [ProviderKind, ...ProviderKind[]] {
  const kinds = KINDS_OF_GROUP[name.split('.')[0] ?? ''];
  if (!kinds) throw new Error(`${name} has no provider`);
  return kinds;
}

/**
 * Returns the provider of an operation's data: of those that it joins, all names.
 * @throws if the operation has none.
 */
export function providerOf(providers: Providers, operation: { name: string }): string {
  const [only, ...others] = kindsOf(operation);
  return others.length === 0
    ? providers[only]
    : kindsOf(operation)
        .map((kind) => providers[kind])
        .join('+');
}

/** Returns the provider of one source of an operation. @param kind the kind of its data; default: the first of the operation. */
export function providerOfSource(
  providers: Providers,
  operation: { name: string },
  kind: ProviderKind = kindsOf(operation)[0],
): string {
  return providers[kind];
}
