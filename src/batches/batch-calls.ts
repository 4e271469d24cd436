import { POOL_NAMES, type PoolName } from '../operations/pools.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { unixMs } from '../platform/db/rows.ts';
import { parseJson } from '../platform/json.ts';
import type { BatchState } from './batch.ts';
import type { FeedWindow } from './read-batch.ts';

/** A batch that has calls to feed now. */
export interface PendingBatch {
  batchId: string;
  accountId: number;
  /** The key for which its calls count. */
  keyHash: Buffer | null;
  operation: string;
  window: FeedWindow;
  deadlineAt: number;
  isWaiting: boolean;
  /** Until this time the batches of the account make no calls: the rest of the minute's calls is reserved for other requests. */
  minuteReservedUntil: number | null;
}

/** A call of a batch that was taken to be submitted. */
export interface FedCall {
  batchId: string;
  firstItem: number;
  items: readonly unknown[];
  input: unknown;
  units: number;
  pool: PoolName;
  callId: string;
  attempts: number;
}

/** The number of calls under way of an account's batches in a pool. */
export interface FedCount {
  accountId: number;
  pool: PoolName;
  calls: number;
}

const KEY_HASH = '(select k.hash from api_keys k where k.id = b.key_id) as "keyHash"';

export async function countFed(database: Queryable): Promise<FedCount[]> {
  const { rows } = await database.query<FedCount>(
    `select b.account_id as "accountId", c.pool, count(*) as calls
     from batch_calls c join batches b on b.id = c.batch_id where c.state = 'fed' group by b.account_id, c.pool`,
  );
  return rows;
}

/** How often a batch that waits for units is tried, because a purchase or a changed limit may end the wait earlier. */
const UNITS_ASKED_EVERY_MS = 600_000;

/**
 * Returns the batches that have calls to feed and wait for neither a reset nor a window, and those that wait for units and were not
 * tried for a while. The batch that was fed longest ago comes first.
 */
export async function pendingBatches(database: Queryable, now: number): Promise<PendingBatch[]> {
  const { rows } = await database.query<PendingBatch>({
    name: 'pending-batches',
    text: `select b.id as "batchId", b.account_id as "accountId", ${KEY_HASH}, b.operation,
        b.feed_window as window,
        ${unixMs('b.deadline_at')} as "deadlineAt", b.waiting_reason is not null as "isWaiting",
        ${unixMs('b.minute_reserved_until')} as "minuteReservedUntil"
      from (
        select *, max(waiting_until) filter (where waiting_reason = 'MINUTE_RESERVED' and waiting_until > $1)
          over (partition by account_id) as minute_reserved_until
        from batches where finished_at is null
      ) as b
      where b.state = 'running' and b.deadline_at > $1
        and (b.waiting_until is null or b.waiting_until <= $1
          or (b.fed_at <= $3 and (b.waiting_reason = 'KEY_CAP_REACHED' or b.waiting_reason like 'QUOTA_%')))
        and exists (
          select from unnest($2::text[]) as p (pool)
          -- The minimum is the first entry of an index, for any estimate of the planner about the other calls.
          where $1 >= (select min(c.not_before) from batch_calls c
            where c.batch_id = b.id and c.state = 'pending' and c.pool = p.pool))
      order by b.fed_at, b.id`,
    values: [new Date(now), POOL_NAMES, new Date(now - UNITS_ASKED_EVERY_MS)],
  });
  return rows;
}

/**
 * Moves a batch behind the others. It is a separate statement, because the lock of a batch is always taken before the
 * locks of its calls.
 */
export async function moveToBack(database: Database, batchId: string, now: number): Promise<void> {
  await database.query('update batches set fed_at = $2 where id = $1', [batchId, new Date(now)]);
}

/**
 * Takes the next calls of a batch in the order of its items, then those that are tried again. A call gets its id before
 * its first attempt and keeps it, so that an attempt whose reply was lost and the next attempt are one call.
 */
export async function takeCalls(
  database: Queryable,
  batchId: string,
  pools: readonly PoolName[],
  callIds: readonly string[],
  now: number,
): Promise<FedCall[]> {
  const { rows } = await database.query<FedCall>({
    name: 'take-batch-calls',
    text: `with chosen as (
        select c.first_item from unnest($3::text[]) as p (pool) cross join lateral (
          select first_item, not_before from batch_calls
          where batch_id = $1 and state = 'pending' and pool = p.pool and not_before <= $2
          order by not_before, first_item limit cardinality($4::uuid[])
          for update skip locked
        ) as c
        order by c.not_before, c.first_item limit cardinality($4::uuid[])
      ),
      named as (
        select c.first_item, i.id
        from (select first_item, row_number() over (order by first_item) as nth from chosen) as c
        join unnest($4::uuid[]) with ordinality as i (id, nth) on i.nth = c.nth
      )
      update batch_calls b
      set state = 'fed', call_id = coalesce(b.call_id, named.id), fed_at = $2, joined = false, attempts = attempts + 1
      from named where b.batch_id = $1 and b.first_item = named.first_item
      returning ${fedColumns('b')}`,
    values: [batchId, new Date(now), pools, callIds],
  });
  return rows.map(parsed);
}

const fedColumns = (
  table: string,
) => `${table}.batch_id as "batchId", ${table}.first_item as "firstItem", ${table}.items,
  ${table}.input, ${table}.units, ${table}.pool, ${table}.call_id as "callId", ${table}.attempts`;

/** Items and input are stored as text, because PostgreSQL's JSON would change their numbers. */
function parsed<Row extends FedCall>(row: Row): Row {
  return { ...row, items: parseJson(row.items as unknown as string), input: parseJson(row.input as string) };
}

/** Returns a call that was refused to the pending ones. It keeps its place and its id. */
export async function returnToFeed(
  database: Database,
  { batchId, firstItem, callId }: FedCall,
): Promise<void> {
  await database.query(
    `update batch_calls set state = 'pending', attempts = attempts - 1
     where batch_id = $1 and first_item = $2 and state = 'fed' and call_id = $3`,
    [batchId, firstItem, callId],
  );
}

/** Marks a call that joined an identical call of the account: it gets that call's result at no charge. */
export async function markJoined(
  database: Database,
  { batchId, firstItem, callId }: FedCall,
  joinedCallId: string,
): Promise<void> {
  await database.query(
    `update batch_calls set call_id = $4, joined = true
     where batch_id = $1 and first_item = $2 and state = 'fed' and call_id = $3`,
    [batchId, firstItem, callId, joinedCallId],
  );
}

/** Stops feeding these batches until `until`. The customer sees the reason. */
export async function pauseFeeding(
  database: Database,
  batchIds: readonly string[],
  reason: string,
  until: number,
): Promise<void> {
  await database.query('update batches set waiting_reason = $2, waiting_until = $3 where id = any($1)', [
    batchIds,
    reason,
    new Date(until),
  ]);
}

export async function endWaiting(database: Database, batchId: string): Promise<void> {
  await database.query('update batches set waiting_reason = null, waiting_until = null where id = $1', [
    batchId,
  ]);
}

/** A fed call that has ended, or that was never admitted. */
export interface CollectableCall extends FedCall {
  accountId: number;
  keyHash: Buffer | null;
  operation: string;
  batchState: BatchState;
  deadlineAt: number;
  onlyChanges: boolean;
  scheduleId: string | null;
  joined: boolean;
  /** Whether the batch shows a reason why it waits. */
  isWaiting: boolean;
}

/** Returns calls that have ended, and calls taken before `takenBefore` that were never admitted (`unknown`). */
export async function endedCalls(
  database: Database,
  takenBefore: number,
  now: number,
  limit: number,
): Promise<{ ended: CollectableCall[]; unknown: CollectableCall[] }> {
  const { rows } = await database.query<CollectableCall & { known: boolean }>({
    name: 'ended-batch-calls',
    text: `select ${fedColumns('f')}, f.joined, b.account_id as "accountId", ${KEY_HASH}, b.operation, b.state as "batchState",
        ${unixMs('b.deadline_at')} as "deadlineAt", b.only_changes as "onlyChanges", b.schedule_id as "scheduleId",
        b.waiting_reason is not null as "isWaiting", c.id is not null as known
      from batch_calls f
      join batches b on b.id = f.batch_id
      left join calls c on c.account_id = b.account_id and c.id = f.call_id
      where f.state = 'fed' and f.not_before <= $2
        and (c.state <> 'reserved' or (c.id is null and f.fed_at < $1))
      order by f.fed_at limit $3`,
    values: [new Date(takenBefore), new Date(now), limit],
  });
  const calls = rows.map(parsed);
  return { ended: calls.filter(({ known }) => known), unknown: calls.filter(({ known }) => !known) };
}

/** Returns the fed calls of cancelled batches, which have to be cancelled too. */
export async function callsToCancel(
  database: Database,
): Promise<(FedCall & { accountId: number; joined: boolean })[]> {
  const { rows } = await database.query<FedCall & { accountId: number; joined: boolean }>(
    `select ${fedColumns('f')}, f.joined, b.account_id as "accountId"
     from batches b join batch_calls f on f.batch_id = b.id and f.state = 'fed'
     where b.finished_at is null and b.state = 'cancelled'`,
  );
  return rows.map(parsed);
}
