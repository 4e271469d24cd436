import type { Redis } from 'ioredis';
import type { Queryable } from '../platform/db/pool.ts';
import { SoukError } from '../platform/errors.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import { storedBytes } from '../results/stored-bytes.ts';
import type { AccountLimits } from './account-limits.ts';

export interface StorageDeps {
  database: Queryable;
  redis: Redis;
  keys: RedisKeys;
}

/** Stored bytes are counted by hours, so an earlier retry rarely succeeds. */
const RETRY_SECONDS = 3_600;

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
  { storedBytes: limit }: AccountLimits,
): Promise<void> {
  const stored = await storedByAccount(deps, accountId);
  if (stored < limit) return;
  throw new SoukError('STORAGE_EXCEEDED', {
    message: `The account has ${stored} bytes of stored results; at most ${limit} are allowed. Results of jobs expire after a day, those of batches 7 days after the end of the batch.`,
    metadata: { limit, stored },
    retryAfterSeconds: RETRY_SECONDS,
  });
}
