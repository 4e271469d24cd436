import type { ClientBase } from 'pg';
import { type CancelDeps, cancelJob } from '../../jobs/control.ts';
import { findCall } from '../billing/calls.ts';
import { enqueue } from '../outbox/webhooks/deliveries.ts';
import { hasWebhookRoom, WEBHOOK_LIMITS } from '../outbox/webhooks/webhook-limits.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { type ErrorRecord, SoukError, toRecord } from '../platform/errors.ts';
import type { Logger } from '../platform/log.ts';
import { isStoreDown } from '../platform/outage.ts';
import {
  type BatchState,
  batchView,
  findBatchById,
  RESULTS_LIFETIME_MS,
  TEST_RESULTS_LIFETIME_MS,
} from './batch.ts';
import { callsToCancel, type FedCall } from './batch-calls.ts';
import { firstChanges } from './changes.ts';
import type { WebhookSettings } from './limits.ts';
import { mailResults } from './schedules/mail-results.ts';

/** How a call of a batch ended. */
export type CallEnding =
  | {
      state: 'done';
      /** NDJSON, gzip. */
      lines: Buffer;
      /** What has changed since the previous run; see CHANGES_TABLE. */
      changes: Buffer | null;
      unitsCharged: number;
      unchangedItems: number;
    }
  | {
      state: 'failed' | 'cancelled';
      error: ErrorRecord;
    };

/** Called when a batch finishes, within the same transaction. */
export type OnFinished = (client: ClientBase, batchId: string) => Promise<void>;

/** Locks a fed call that has to be collected. @returns false if another worker holds or has ended it. */
export async function lockCall(
  client: ClientBase,
  { batchId, firstItem, callId }: FedCall,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `select 1 from batch_calls where batch_id = $1 and first_item = $2 and state = 'fed' and call_id = $3
     for update skip locked`,
    [batchId, firstItem, callId],
  );
  return rowCount === 1;
}

/** Stores the end of a locked call, and finishes its batch if it was the last call. */
export async function endCall(
  client: ClientBase,
  { batchId, firstItem, items }: FedCall,
  ending: CallEnding,
  now: number,
  onFinished: OnFinished,
): Promise<void> {
  const done = ending.state === 'done';
  const { rows } = await client.query<{ ends: number }>(
    `update batches set ends = ends + 1, units_charged = units_charged + $2, done_items = done_items + $3,
       failed_items = failed_items + $4, cancelled_items = cancelled_items + $5,
       unchanged_items = unchanged_items + $6, result_bytes = result_bytes + $7
     where id = $1 returning ends`,
    [
      batchId,
      done ? ending.unitsCharged : 0,
      done ? items.length : 0,
      ending.state === 'failed' ? items.length : 0,
      ending.state === 'cancelled' ? items.length : 0,
      done ? ending.unchangedItems : 0,
      done ? ending.lines.length + (ending.changes?.length ?? 0) : 0,
    ],
  );
  await client.query(
    `update batch_calls set state = $3, end_no = $4, ended_at = $5, lines = $6, changes = $7, error = $8
     where batch_id = $1 and first_item = $2`,
    [
      batchId,
      firstItem,
      ending.state,
      rows[0]?.ends,
      new Date(now),
      ...(done ? [ending.lines, ending.changes, null] : [null, null, JSON.stringify(ending.error)]),
    ],
  );
  await finishIfDone(client, batchId, now, onFinished);
}

/** Returns a locked call to the pending ones, to be fed once more. */
export async function returnToPending(
  client: ClientBase,
  { batchId, firstItem }: FedCall,
  notBefore: number,
): Promise<void> {
  await client.query(
    `update batch_calls set state = 'pending', call_id = null, not_before = $3
     where batch_id = $1 and first_item = $2`,
    [batchId, firstItem, new Date(notBefore)],
  );
}

/** Postpones the collection of a fed call until `notBefore`. */
export async function postponeCollection(
  database: Queryable,
  { batchId, firstItem, callId }: FedCall,
  notBefore: number,
): Promise<void> {
  await database.query(
    `update batch_calls set not_before = $4
     where batch_id = $1 and first_item = $2 and state = 'fed' and call_id = $3`,
    [batchId, firstItem, callId, new Date(notBefore)],
  );
}

/** Cancels a batch: its pending calls end immediately. @returns false if it had ended. */
export async function cancelBatch(
  database: Database,
  accountId: number,
  batchId: string,
  now: number,
  onFinished: OnFinished,
): Promise<boolean> {
  return inTransaction(database, (client) =>
    stopBatch(client, { batchId, accountId }, 'cancelled', now, onFinished),
  );
}

interface EndingDeps {
  database: Database;
  clock: Clock;
  log: Logger;
  onFinished: OnFinished;
}

/** Changes one of several batches in a transaction. An error that is not about the stores is logged, and the others go on. */
export async function changeOne(
  { database, log }: Pick<EndingDeps, 'database' | 'log'>,
  batchId: string,
  change: (client: ClientBase) => Promise<unknown>,
): Promise<void> {
  await inTransaction(database, change).catch((error: unknown) => {
    if (isStoreDown(error)) throw error;
    log.error({ err: error, batchId }, 'failed to change a batch');
  });
}

/** Ends the batches whose deadline has passed. */
export async function expireBatches(deps: EndingDeps): Promise<void> {
  const { database, clock, onFinished } = deps;
  const now = clock.now();
  const { rows } = await database.query<{ batchId: string; accountId: number }>(
    `select id as "batchId", account_id as "accountId" from batches
     where finished_at is null and state = 'running' and deadline_at <= $1`,
    [new Date(now)],
  );
  for (const batch of rows)
    await changeOne(deps, batch.batchId, (client) => stopBatch(client, batch, 'expired', now, onFinished));
}

/** Stops feeding a running batch: its pending calls end immediately. @returns false if it had ended. */
async function stopBatch(
  client: ClientBase,
  { batchId, accountId }: { batchId: string; accountId: number },
  state: keyof typeof UNFED,
  now: number,
  onFinished: OnFinished,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `update batches set state = $3, waiting_reason = null, waiting_until = null
     where account_id = $1 and id = $2 and state = 'running' and finished_at is null`,
    [accountId, batchId, state],
  );
  if (rowCount === 0) return false;
  await endPending(client, batchId, state, now);
  await finishIfDone(client, batchId, now, onFinished);
  return true;
}

/**
 * Ends calls that returned to a batch as pending while it was cancelled or expired. Such a batch is not fed, so it
 * would never finish.
 */
export async function endStrandedCalls(deps: EndingDeps): Promise<void> {
  const { database, clock, onFinished } = deps;
  const now = clock.now();
  const { rows } = await database.query<{ id: string }>(
    `select b.id from batches b where b.finished_at is null and b.state in ('expired', 'cancelled')
       and exists (select 1 from batch_calls c where c.batch_id = b.id and c.state = 'pending')`,
  );
  for (const { id } of rows) {
    await changeOne(deps, id, async (client) => {
      const { rows: locked } = await client.query<{ state: keyof typeof UNFED }>(
        `select state from batches where id = $1 and finished_at is null and state in ('expired', 'cancelled') for update`,
        [id],
      );
      const [batch] = locked;
      if (!batch) return;
      await endPending(client, id, batch.state, now);
      await finishIfDone(client, id, now, onFinished);
    });
  }
}

/** Returns the number of the failed calls of a batch, of their items, and their highest price. */
export async function failedCalls(
  database: Queryable,
  batchId: string,
): Promise<{ calls: number; items: number; units: number }> {
  const { rows } = await database.query<{ calls: number; items: number; units: number }>(
    `select count(*) as calls, coalesce(sum(item_count), 0) as items, coalesce(sum(units), 0) as units
     from batch_calls where batch_id = $1 and state = 'failed'`,
    [batchId],
  );
  return rows[0] ?? { calls: 0, items: 0, units: 0 };
}

/** Returns the failed calls of a finished batch to the pending ones. They count for the key of the request. @returns their number. */
export async function retryFailed(
  client: ClientBase,
  batchId: string,
  { deadlineAt, keyId }: { deadlineAt: number; keyId: number | null },
): Promise<number> {
  const { rows } = await client.query<{ items: number }>(
    `update batch_calls set state = 'pending', call_id = null, attempts = 0, not_before = '-infinity',
       ended_at = null, end_no = null, error = null
     where batch_id = $1 and state = 'failed' returning item_count as items`,
    [batchId],
  );
  if (rows.length === 0) return 0;
  const items = rows.reduce((sum, row) => sum + row.items, 0);
  await client.query(
    `update batches set state = 'running', finished_at = null, deadline_at = $2, failed_items = failed_items - $3,
       waiting_reason = null, waiting_until = null, key_id = $4
     where id = $1`,
    [batchId, new Date(deadlineAt), items, keyId],
  );
  return rows.length;
}

/** A limit on each statement, because a batch can have 100,000 calls. */
const BATCHES_DROPPED_TOGETHER = 20;

/** Deletes batches whose results have expired: those of test accounts after TEST_RESULTS_LIFETIME_MS. */
export async function dropOldBatches(database: Database, now: number): Promise<void> {
  await dropEndedBatches(database, now - RESULTS_LIFETIME_MS, '');
  // The numbers of test accounts start here. The index has the same condition; see src/accounts/authentication.ts.
  await dropEndedBatches(database, now - TEST_RESULTS_LIFETIME_MS, 'and account_id >= 1000000000000');
}

async function dropEndedBatches(database: Database, endedBefore: number, condition: string): Promise<void> {
  for (;;) {
    const { rowCount } = await database.query(
      `delete from batches where id in (select id from batches where finished_at <= $1 ${condition} limit $2)`,
      [new Date(endedBefore), BATCHES_DROPPED_TOGETHER],
    );
    if ((rowCount ?? 0) < BATCHES_DROPPED_TOGETHER) return;
  }
}

/** How the pending calls of a batch end that was cancelled or has expired. */
const UNFED = {
  cancelled: { state: 'cancelled', column: 'cancelled_items', error: toRecord(new SoukError('CANCELLED')) },
  expired: { state: 'failed', column: 'failed_items', error: toRecord(new SoukError('DEADLINE_PASSED')) },
} as const;

/** Returns why calls of a batch are not made any more; null: it has not been cancelled and has not expired. */
export function endOf(state: BatchState): ErrorRecord | null {
  return state === 'cancelled' || state === 'expired' ? UNFED[state].error : null;
}

async function endPending(
  client: ClientBase,
  batchId: string,
  batchState: keyof typeof UNFED,
  now: number,
): Promise<void> {
  const { state, column, error } = UNFED[batchState];
  const { rows } = await client.query<{ items: number; endNo: number }>(
    `update batch_calls c set state = $2, error = $3, ended_at = $4, end_no = b.ends + n.nth
     from batches b, (
       select first_item, row_number() over (order by first_item) as nth
       from batch_calls where batch_id = $1 and state = 'pending'
     ) as n
     where b.id = $1 and c.batch_id = $1 and c.first_item = n.first_item and c.state = 'pending'
     returning c.item_count as items, c.end_no as "endNo"`,
    [batchId, state, JSON.stringify(error), new Date(now)],
  );
  const items = rows.reduce((sum, row) => sum + row.items, 0);
  // If another transaction has taken one of the calls, its number is not used. So the highest number can exceed the
  // number of rows.
  const ends = rows.reduce((last, row) => Math.max(last, row.endNo), 0);
  await client.query(
    `update batches set ends = greatest(ends, $2), ${column} = ${column} + $3 where id = $1`,
    [batchId, ends, items],
  );
}

/**
 * Finishes a batch if all of its calls have ended. The caller has changed the batch's row and so holds its lock: if the
 * last two calls end at the same time, the second transaction sees that both have ended. `min(pool)` reads the first entry of
 * the index for a state, and no call that has ended. The run of a schedule keeps the outcome longer than the batch is kept.
 */
async function finishIfDone(client: ClientBase, batchId: string, now: number, onFinished: OnFinished) {
  const { rowCount } = await client.query(
    `with finished as (
       update batches set finished_at = $2, state = case when state = 'running' then 'done' else state end,
         waiting_reason = null, waiting_until = null
       where id = $1 and finished_at is null
         and (select min(pool) from batch_calls where batch_id = $1 and state = 'pending') is null
         and (select min(pool) from batch_calls where batch_id = $1 and state = 'fed') is null
       returning id, schedule_id, done_items > 0 or failed_items = 0 as succeeded
     ), noted as (
       update schedule_runs r set succeeded = f.succeeded from finished f
       where r.schedule_id = f.schedule_id and r.batch_id = f.id
     )
     select from finished`,
    [batchId, new Date(now)],
  );
  if (rowCount === 1) await onFinished(client, batchId);
}

/** The most changes that a webhook has. All of them are at `/api/batches/{id}/changes`. */
const MOST_SENT = 100;

/**
 * Queues the webhook and the mail about a finished batch, in the transaction that finishes the batch. The webhook of a batch was
 * checked when the batch was created; that of a run is left out while the account has as many undelivered webhooks as are allowed.
 */
export function createBatchNotifier(clock: Clock, { limits = WEBHOOK_LIMITS }: WebhookSettings): OnFinished {
  return async (client, batchId) => {
    const batch = await findBatchById(client, batchId);
    if (!batch) return;
    await mailResults(client, batch, clock.now());
    if (!batch.webhook) return;
    const { accountId, webhook: url, onlyChanges, scheduleId } = batch;
    if (scheduleId !== null && !(await hasWebhookRoom(client, { accountId, url }, limits))) return;
    const changes = onlyChanges ? { changes: await firstChanges(client, batchId, MOST_SENT) } : {};
    const data = { ...batchView(batch), ...changes };
    await enqueue(client, { accountId, url, type: 'batch.completed', data }, clock.now());
  };
}

/** Cancels the calls under way of batches that were cancelled. */
export async function cancelFedCalls(deps: CancelDeps & EndingDeps): Promise<void> {
  for (const fed of await callsToCancel(deps.database)) {
    if (fed.joined) {
      await leaveJoined(deps, fed);
      continue;
    }
    const call = await findCall(deps.database, fed.accountId, fed.callId);
    if (call?.state !== 'reserved') continue;
    await cancelJob(deps, call).catch((error: unknown) => {
      // A request waits for this call, so the call continues.
      if (!(error instanceof SoukError && error.kind === 'JOB_SHARED')) throw error;
    });
  }
}

/** Ends a call of the batch that has joined the call of another request. The call of the other request continues. */
async function leaveJoined(deps: EndingDeps, fed: FedCall): Promise<void> {
  const { clock, onFinished } = deps;
  const error = toRecord(new SoukError('CANCELLED'));
  await changeOne(deps, fed.batchId, async (client) => {
    if (await lockCall(client, fed))
      await endCall(client, fed, { state: 'cancelled', error }, clock.now(), onFinished);
  });
}
