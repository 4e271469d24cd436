import type { ClientBase } from 'pg';
import { isTestAccount } from '../accounts/test-accounts.ts';
import { TEST_POOL } from '../operations/pools.ts';
import { stringifyJson } from '../platform/json.ts';
import type { PackedCall } from './pack.ts';
import type { FeedWindow } from './request-schemas.ts';

/** A batch to be inserted. Times are Unix milliseconds. */
export interface NewBatch {
  /** UUID of version 7. */
  batchId: string;
  accountId: number;
  /** The key for which its calls count; null: none, or a key of the pages. */
  keyId: number | null;
  name: string | null;
  operation: string;
  window: FeedWindow;
  webhook: string | null;
  idempotencyKey: string | null;
  /** Hash of what the request asks for: detects an idempotency key that is used for another request. */
  requestHash: Buffer;
  scheduleId: string | null;
  onlyChanges: boolean;
  createdAt: number;
  deadlineAt: number;
}

/** The number of calls that one statement inserts. Together they have a few hundred KB of items. */
const ROWS_PER_STATEMENT = 500;

/**
 * Inserts a batch and its calls in the caller's transaction.
 * @returns false if the account already has a batch with this idempotency key; then nothing is written.
 */
export async function insertBatch(
  client: ClientBase,
  batch: NewBatch,
  calls: readonly PackedCall[],
): Promise<boolean> {
  const itemCount = calls.reduce((sum, { items }) => sum + items.length, 0);
  const units = calls.reduce((sum, call) => sum + call.units, 0);
  const { rowCount } = await client.query(
    `insert into batches (id, account_id, name, operation, state, feed_window, item_count, units_quoted, webhook,
       idempotency_key, request_hash, schedule_id, only_changes, created_at, deadline_at, key_id)
     values ($1, $2, $3, $4, 'running', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
     on conflict (account_id, idempotency_key) where idempotency_key is not null do nothing`,
    [
      ...[batch.batchId, batch.accountId, batch.name, batch.operation, batch.window, itemCount, units],
      ...[batch.webhook, batch.idempotencyKey, batch.requestHash, batch.scheduleId, batch.onlyChanges],
      ...[new Date(batch.createdAt), new Date(batch.deadlineAt), batch.keyId],
    ],
  );
  if (rowCount === 0) return false;
  await deleteOldFreeBatches(client, batch.accountId);
  for (let i = 0; i < calls.length; i += ROWS_PER_STATEMENT) {
    await insertCalls(client, batch, calls.slice(i, i + ROWS_PER_STATEMENT));
  }
  return true;
}

/**
 * How many ended batches that cost nothing an account keeps, such as cancelled ones: otherwise an account could store as
 * many items as it sends.
 */
export const FREE_BATCHES_KEPT = 100;

/** A limit on each statement, because a batch can have 100,000 calls. */
const FREE_BATCHES_DELETED = 2;

async function deleteOldFreeBatches(client: ClientBase, accountId: number): Promise<void> {
  await client.query(
    `delete from batches where id in (
       select id from batches where account_id = $1 and finished_at is not null and units_charged = 0
       order by id desc offset $2 limit $3 for update skip locked)`,
    [accountId, FREE_BATCHES_KEPT, FREE_BATCHES_DELETED],
  );
}

/** Returns whether the account has a batch with the idempotency key of this one. */
export async function isKnown(client: ClientBase, { accountId, idempotencyKey }: NewBatch): Promise<boolean> {
  const { rowCount } = await client.query(
    'select 1 from batches where account_id = $1 and idempotency_key = $2',
    [accountId, idempotencyKey],
  );
  return rowCount !== 0;
}

/** Adds calls to a batch. Those of a test account run in the pool of test calls. */
export async function insertCalls(
  client: ClientBase,
  { batchId, accountId }: { batchId: string; accountId: number },
  calls: readonly PackedCall[],
): Promise<void> {
  await client.query(
    `insert into batch_calls (batch_id, first_item, item_count, pool, units, items, input)
     select $1, * from unnest($2::integer[], $3::integer[], $4::text[], $5::integer[], $6::text[], $7::text[])`,
    [
      batchId,
      calls.map(({ firstItem }) => firstItem),
      calls.map(({ items }) => items.length),
      calls.map(({ pool }) => (isTestAccount(accountId) ? TEST_POOL : pool)),
      calls.map(({ units }) => units),
      calls.map(({ items }) => stringifyJson(items)),
      calls.map(({ input }) => stringifyJson(input)),
    ],
  );
}
