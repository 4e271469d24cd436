import type { PoolName } from '../operations/pools.ts';
import { unixMs } from '../platform/db/columns.ts';
import type { Database } from '../platform/db/pool.ts';
import { parseJson } from '../platform/json.ts';
import type { BatchState } from './batch.ts';
import type { FeedWindow } from './request-schemas.ts';

/** A batch that has calls to feed now. */
export interface PendingBatch {
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

/** Batches that have calls to feed, and wait for no reset and no window; the one fed longest ago first. */
export async function pendingBatches(database: Database, now: number): Promise<PendingBatch[]> {
  const { rows } = await database.query<PendingBatch>({
    name: 'pending-batches',
    text: `select b.id as "batchId", b.account_id as "accountId", b.operation, b.feed_window as window,
        ${unixMs('b.deadline_at')} as "deadlineAt", b.waiting_reason is not null as "isWaiting",
        (select count(*) from batch_calls f where f.batch_id = b.id and f.state = 'fed') as fed,
        (select ${unixMs('max(w.waiting_until)')} from batches w
         where w.account_id = b.account_id and w.finished_at is null and w.waiting_reason = 'MINUTE_RESERVED'
           and w.waiting_until > $1) as "minuteReservedUntil"
      from batches b
      where b.finished_at is null and b.state = 'running' and b.deadline_at > $1
        and (b.waiting_until is null or b.waiting_until <= $1)
        and exists (
          select 1 from batch_calls c where c.batch_id = b.id and c.state = 'pending' and c.not_before <= $1)
      order by b.fed_at, b.id`,
    values: [new Date(now)],
  });
  return rows;
}

/** Puts a batch behind the others. In a statement of its own: locks of a batch come before those of its calls. */
export async function noteFed(database: Database, batchId: string, now: number): Promise<void> {
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
  const { rows } = await database.query<FedCall>({
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
      returning ${fedColumns('b')}`,
    values: [batchId, new Date(now), pools, callIds],
  });
  return rows.map(parsed);
}

const fedColumns = (
  table: string,
) => `${table}.batch_id as "batchId", ${table}.first_item as "firstItem", ${table}.items,
  ${table}.input, ${table}.units, ${table}.pool, ${table}.call_id as "callId", ${table}.attempts`;

/** Items and input are kept as text, since JSON of PostgreSQL would change their numbers. */
function parsed<Row extends FedCall>(row: Row): Row {
  return { ...row, items: parseJson(row.items as unknown as string), input: parseJson(row.input as string) };
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
  const { rows } = await database.query<ToCollect & { known: boolean }>({
    name: 'ended-batch-calls',
    text: `select ${fedColumns('f')}, f.joined, b.account_id as "accountId", b.operation, b.state as "batchState",
        ${unixMs('b.deadline_at')} as "deadlineAt", b.only_changes as "onlyChanges", b.schedule_id as "scheduleId",
        c.id is not null as known
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

/** Fed calls of batches that were cancelled, to be cancelled as well. */
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
