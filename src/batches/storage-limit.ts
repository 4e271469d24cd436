import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { SoukError } from '../platform/errors.ts';
import type { Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import { storedBytes } from '../results/stored-bytes.ts';
import { type AccountLimits, limitsFor } from './account-limits.ts';

export interface StorageDeps {
  database: Queryable;
  redis: Redis;
  keys: RedisKeys;
}

/** Stored bytes are counted by hours, so an earlier retry rarely succeeds. */
const RETRY_SECONDS = 3_600;

/** How long a gateway remembers the stored bytes of an account, and of how many accounts. */
const REMEMBERED_MS = 10_000;
const MAX_REMEMBERED = 10_000;

/** @throws SoukError STORAGE_EXCEEDED. */
export type RequireStorage = (accountId: number) => Promise<void>;

/** Returns the bytes of an account's results: answers that it may poll, in Redis, and results of batches, in PostgreSQL. */
export async function storedByAccount(
  { database, redis, keys }: StorageDeps,
  accountId: number,
): Promise<number> {
  const [answers, { rows }] = await Promise.all([
    storedBytes(redis, keys, accountId),
    database.query<{ bytes: number }>({
      name: 'result-bytes',
      text: 'select coalesce(sum(result_bytes), 0)::bigint as bytes from batches where account_id = $1',
      values: [accountId],
    }),
  ]);
  return answers + Number(rows[0]?.bytes ?? 0);
}

/** @throws SoukError STORAGE_EXCEEDED. */
export async function requireStorage(
  deps: StorageDeps,
  accountId: number,
  limits: AccountLimits,
): Promise<void> {
  refuseBeyond(limits, await storedByAccount(deps, accountId));
}

/** Creates the check of a gateway. It adds up the bytes of an account at most once in ten seconds, however many calls it makes. */
export function createStorageCheck(deps: StorageDeps, limits: AccountLimits, clock: Clock): RequireStorage {
  const remembered = new LRUCache<number, number>({
    max: MAX_REMEMBERED,
    ...{ ttl: REMEMBERED_MS, ttlResolution: 0, perf: { now: clock.now } },
    fetchMethod: (accountId) => storedByAccount(deps, accountId),
  });
  return async (accountId) =>
    refuseBeyond(limitsFor(accountId, limits), await remembered.forceFetch(accountId));
}

function refuseBeyond({ storedBytes: limit }: AccountLimits, stored: number): void {
  if (stored < limit) return;
  throw new SoukError('STORAGE_EXCEEDED', {
    message: `The account has ${stored} bytes of stored results; at most ${limit} are allowed. Results of jobs expire after a day, those of batches 7 days after the end of the batch.`,
    metadata: { limit, stored },
    retryAfterSeconds: RETRY_SECONDS,
  });
}
