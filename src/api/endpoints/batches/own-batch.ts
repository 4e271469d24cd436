import { type Batch, findBatch } from '../../../batches/batch.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { SoukError } from '../../../platform/errors.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Redis } from '../../../platform/redis.ts';
import type { RedisKeys } from '../../../platform/redis-keys.ts';
import type { Account } from '../../plugins/authentication.ts';
import { requireUse } from '../../scopes.ts';

export interface BatchDeps {
  database: Database;
  clock: Clock;
}

export interface NotifyDeps {
  redis: Redis;
  keys: RedisKeys;
  log: Logger;
}

export const batchId = { of: 'the batch', unknown: 'BATCH_NOT_FOUND' } as const;

/**
 * Returns a batch of the account that its key may use.
 * @throws SoukError BATCH_NOT_FOUND, also for a batch of another account, or KEY_SCOPE_MISSING.
 */
export async function ownBatch(
  { database }: Pick<BatchDeps, 'database'>,
  account: Account,
  id: string,
  use: 'read' | 'change' = 'read',
): Promise<Batch> {
  const batch = await findBatch(database, account.accountId, id);
  if (!batch) throw new SoukError('BATCH_NOT_FOUND');
  requireUse(account, batch.operation, use);
  return batch;
}

/** Publishes that a batch has changed. Workers also poll for changes every second, so a lost message only costs time. */
export async function notifyWorkers({ redis, keys, log }: NotifyDeps, id: string): Promise<void> {
  await redis
    .publish(keys.batchesChannel, id)
    .catch((error: unknown) => log.warn({ err: error }, 'failed to publish a batch change'));
}
