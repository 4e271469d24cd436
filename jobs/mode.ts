import { isTestAccount, type Mode, modeOf } from '../src/accounts/test-accounts.ts';
import type { QueuedOperation } from '../src/operations/define.ts';
import { type PoolName, TEST_POOL } from '../src/operations/pools.ts';
import { type Providers, TEST_PROVIDERS } from '../src/operations/providers.ts';
import type { Database } from '../src/platform/db/pool.ts';

/*
 * Everything that depends on the mode of a call, which follows from its account. Test calls run in a pool of their own, whose
 * jobs have no client of a real provider; and identities of answers, sources, flights, tokens and paces contain the provider.
 */

/** Returns the pool in which a call of an account runs. */
export function poolOf(accountId: number, operation: QueuedOperation, input: unknown): PoolName {
  return isTestAccount(accountId) ? TEST_POOL : operation.queue(input);
}

/** Returns the pools in which calls of an account for an operation may run. */
export function poolsOf(accountId: number, { pools }: QueuedOperation): readonly PoolName[] {
  return isTestAccount(accountId) ? [TEST_POOL] : pools;
}

/** Returns the providers whose data an account receives. @param providers those of the installation. */
export function providersFor(accountId: number, providers: Providers): Providers {
  return isTestAccount(accountId) ? TEST_PROVIDERS : providers;
}

/** The connections to the weekly reports of each mode: imported ones for live calls, generated ones for test calls. */
export type Reports = Readonly<Record<Mode, Database>>;

/** Returns the connections to the weekly reports that an account reads. */
export function reportsFor(accountId: number, reports: Reports): Database {
  return reports[modeOf(accountId)];
}
