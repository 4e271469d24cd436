import type { PoolName } from '../operations/pools.ts';
import type { Database } from '../platform/db/pool.ts';
import { parseJson } from '../platform/json.ts';
import type { BatchState } from './batch.ts';
import type { FeedWindow } from './request-schemas.ts';

/** A batch that has calls which may be fed now. */
export interface HungryBatch {
  batchId: string;
  accountId: number;
  operation: string;
  window: FeedWindow;
  deadlineAt: number;
  /** Calls of this batch under way. */
  fed: number;
  isWaiting: boolean;
  /** Until when another batch of the account leaves the rest of the minute's calls to other requests. */
  minuteReservedUntil: number | null;
}

/** A call of a batch, taken to be done. */
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

/** How many calls of batches are under way, by pool. */
export async function countFed(database: Database): Promise<Map<PoolName, number>> {
  const { rows } = await database.query<{ pool: PoolName; calls: number }>(
    `select pool, count(*) as calls from batch_calls where state = 'fed' group by pool`,
  );
  return new Map(rows.map(({ pool, calls }) => [pool, calls]));
}

/** Batches that could go on, and wait for no reset and no window. */
export async function hungryBatches(database: Database, now: number): Promise<HungryBatch[]> {
  const { rows } = await database.query<HungryRow>({
    name: 'hungry-batches',
    text: `select b.id, b.account_id, b.operation, b.feed_window, b.deadline_at, b.waiting_reason,
        (select count(*) from batch_calls f where f.batch_id = b.id and f.state = 'fed') as fed,
        (select max(w.waiting_until) from batches w
         where w.account_id = b.account_id and w.finished_at is null and w.waiting_reason = 'MINUTE_RESERVED'
           and w.waiting_until > $1) as minute_reserved_until
      from batches b
      where b.finished_at is null and b.state = 'running' and b.deadline_at > $1
        and (b.waiting_until is null or b.waiting_until <= $1)
        and exists (
          select 1 from batch_calls c where c.batch_id = b.id and c.state = 'pending' and c.not_before <= $1)
      order by b.fed_at, b.id`,
    values: [new Date(now)],
  });
  return rows.map((row) => ({
    batchId: row.id,
    accountId: row.account_id,
    operation: row.operation,
    window: row.feed_window,
    deadlineAt: row.deadline_at.getTime(),
    fed: row.fed,
    isWaiting: row.waiting_reason !== null,
    minuteReservedUntil: row.minute_reserved_until?.getTime() ?? null,
  }));
}

interface HungryRow {
  id: string;
  account_id: number;
  operation: string;
  feed_window: FeedWindow;
  deadline_at: Date;
  waiting_reason: string | null;
  fed: number;
  minute_reserved_until: Date | null;
}

/** The batch has its turn. In a statement of its own: locks of a batch come before those of its calls. */
export async function noteTurn(database: Database, batchId: string, now: number): Promise<void> {
  await database.query('update batches set fed_at = $2 where id = $1', [batchId, new Date(now)]);
}

/**
 * Takes the next calls of a batch, in the order of its items. Each is given a call id before it is admitted, so that
 * one whose process dies in between is admitted under it later, once.
 */
export async function takeCalls(
  database: Database,
  batchId: string,
  pools: readonly PoolName[],
  callIds: readonly string[],
  now: number,
): Promise<FedCall[]> {
  const { rows } = await database.query<FedRow>({
    name: 'take-batch-calls',
    text: `with chosen as (
        select first_item from batch_calls
        where batch_id = $1 and state = 'pending' and not_before <= $2 and pool = any($3)
        order by first_item limit cardinality($4::uuid[])
        for update skip locked
      ),
      named as (
        select c.first_item, i.id
        from (select first_item, row_number() over (order by first_item) as nth from chosen) as c
        join unnest($4::uuid[]) with ordinality as i (id, nth) on i.nth = c.nth
      )
      update batch_calls b
      set state = 'fed', call_id = named.id, fed_at = $2, joined = false, attempts = attempts + 1
      from named where b.batch_id = $1 and b.first_item = named.first_item
      returning b.batch_id, b.first_item, b.items, b.input, b.units, b.pool, b.call_id, b.attempts`,
    values: [batchId, new Date(now), pools, callIds],
  });
  return rows.map(toFedCall);
}

export interface FedRow {
  batch_id: string;
  first_item: number;
  items: string;
  input: string;
  units: number;
  pool: PoolName;
  call_id: string;
  attempts: number;
}

export function toFedCall(row: FedRow): FedCall {
  return {
    batchId: row.batch_id,
    firstItem: row.first_item,
    items: parseJson(row.items) as unknown[],
    input: parseJson(row.input),
    units: row.units,
    pool: row.pool,
    callId: row.call_id,
    attempts: row.attempts,
  };
}

/** Gives a call back, to be taken again: it was not admitted. */
export async function giveBack(
  database: Database,
  { batchId, firstItem, callId }: FedCall,
  notBefore: number,
): Promise<void> {
  await database.query(
    `update batch_calls set state = 'pending', call_id = null, attempts = attempts - 1, not_before = $4
     where batch_id = $1 and first_item = $2 and state = 'fed' and call_id = $3`,
    [batchId, firstItem, callId, new Date(notBefore)],
  );
}

/** The account had asked the same already: what that call brings is the result of this one, for nothing. */
export async function noteJoinedCall(
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

/** Nothing of these batches is fed before `until`, for a reason their customer is told. */
export async function letWait(
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

/** A fed call whose end has to be noted, or that was never admitted. */
export interface ToCollect extends FedCall {
  accountId: number;
  operation: string;
  batchState: BatchState;
  deadlineAt: number;
  onlyChanges: boolean;
  scheduleId: string | null;
  joined: boolean;
}

/** Calls that have ended, or that are not in the books although they were taken before `takenBefore`. */
export async function endedCalls(
  database: Database,
  takenBefore: number,
  now: number,
  limit: number,
): Promise<{ ended: ToCollect[]; unknown: ToCollect[] }> {
  const { rows } = await database.query<ToCollectRow>({
    name: 'ended-batch-calls',
    text: `select f.*, b.account_id, b.operation, b.state as batch_state, b.deadline_at, b.only_changes, b.schedule_id,
        c.id is not null as known
      from batch_calls f
      join batches b on b.id = f.batch_id
      left join calls c on c.account_id = b.account_id and c.id = f.call_id
      where f.state = 'fed' and f.not_before <= $2
        and (c.state <> 'reserved' or (c.id is null and f.fed_at < $1))
      order by f.fed_at limit $3`,
    values: [new Date(takenBefore), new Date(now), limit],
  });
  const toCollect = (row: ToCollectRow): ToCollect => ({
    ...toFedCall(row),
    accountId: row.account_id,
    operation: row.operation,
    batchState: row.batch_state,
    deadlineAt: row.deadline_at.getTime(),
    onlyChanges: row.only_changes,
    scheduleId: row.schedule_id,
    joined: row.joined,
  });
  return {
    ended: rows.filter(({ known }) => known).map(toCollect),
    unknown: rows.filter(({ known }) => !known).map(toCollect),
  };
}

interface ToCollectRow extends FedRow {
  account_id: number;
  operation: string;
  batch_state: BatchState;
  deadline_at: Date;
  only_changes: boolean;
  schedule_id: string | null;
  joined: boolean;
  known: boolean;
}

/** Fed calls of batches that were cancelled, to be cancelled as well. */
export async function callsToCancel(
  database: Database,
): Promise<(FedCall & { accountId: number; joined: boolean })[]> {
  const { rows } = await database.query<FedRow & { account_id: number; joined: boolean }>(
    `select f.*, b.account_id
     from batches b join batch_calls f on f.batch_id = b.id and f.state = 'fed'
     where b.finished_at is null and b.state = 'cancelled'`,
  );
  return rows.map((row) => ({ ...toFedCall(row), accountId: row.account_id, joined: row.joined }));
}
