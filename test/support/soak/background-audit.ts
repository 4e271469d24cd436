import type { Database } from '../../../src/platform/db/pool.ts';
import type { WantedBatch } from './batches.ts';
import type { Fault } from './ledger-audit.ts';
import type { SoakMessage } from './receiver.ts';
import type { SetTick } from './schedules.ts';

const DELIVERIES = `deliveries as materialized (
  select id, account_id, payload::json -> 'data' ->> 'batchId' as batch_id from outbox)`;

/** Each query returns the rows that violate a rule. */
const AUDITS: Record<string, string> = {
  'every batch ends': `
    select id, account_id, state, waiting_reason, deadline_at from batches where finished_at is null`,
  'a batch that has ended has no call under way': `
    select c.batch_id, c.first_item, c.state, c.call_id from batch_calls c join batches b on b.id = c.batch_id
    where b.finished_at is not null and c.state in ('pending', 'fed')`,
  'the counts of a batch equal the counts of its calls': `
    select b.id, b.item_count, b.done_items, b.failed_items, b.cancelled_items, c.*
    from batches b cross join lateral (
      select coalesce(sum(item_count), 0) as items,
        coalesce(sum(item_count) filter (where state = 'done'), 0) as done,
        coalesce(sum(item_count) filter (where state = 'failed'), 0) as failed,
        coalesce(sum(item_count) filter (where state = 'cancelled'), 0) as cancelled
      from batch_calls where batch_id = b.id) as c
    where (b.item_count, b.done_items, b.failed_items, b.cancelled_items)
      <> (c.items, c.done, c.failed, c.cancelled)`,
  'each item of a batch is in exactly one of its calls': `
    select * from (
      select batch_id, first_item,
        coalesce(lag(first_item + item_count) over (partition by batch_id order by first_item), 0) as expected
      from batch_calls) as c
    where first_item <> expected`,
  'the charge of a batch equals the charges of its calls': `
    select b.id, b.units_charged, c.charged
    from batches b cross join lateral (
      -- A call with a partial answer has several parts.
      select coalesce(sum(k.units_charged), 0) as charged from calls k
      where k.account_id = b.account_id and k.id in (
        select c.call_id from batch_calls c where c.batch_id = b.id and c.state = 'done' and not c.joined)) as c
    where b.units_charged <> c.charged`,
  'a call belongs to one batch': `
    select call_id, count(*) from batch_calls where call_id is not null and not joined
    group by call_id having count(distinct batch_id) > 1`,
  'every charge of an account with batches only belongs to one of its batches': `
    select a.id, a.name, k.charged as calls, b.charged as batches, stray.calls as "callsWithoutBatch"
    from accounts a
    cross join lateral (select sum(units_charged) as charged from calls where account_id = a.id) as k
    cross join lateral (select sum(units_charged) as charged from batches where account_id = a.id) as b
    cross join lateral (
      select json_agg(json_build_object('call', to_json(c), 'items', (
        select json_agg(i) from batch_calls i where i.call_id = c.id))) as calls
      from calls c where c.account_id = a.id and c.units_charged > 0 and not exists (
        select from batch_calls i where i.call_id = c.id and i.state = 'done' and not i.joined)) as stray
    where a.name like '%-batches' and coalesce(k.charged, 0) <> coalesce(b.charged, 0)`,
  'a tick has at most one run': `
    select schedule_id, due_at, count(*) from schedule_runs where trigger <> 'manual'
    group by schedule_id, due_at having count(*) > 1`,
  'a started run has a batch, and no other run has one': `
    select r.id, r.schedule_id, r.state, r.reason from schedule_runs r left join batches b on b.id = r.batch_id
    where (r.state = 'started') <> (b.id is not null) or b.schedule_id <> r.schedule_id or r.state = 'failed'`,
  'a batch of a schedule belongs to one run': `
    select b.id, b.schedule_id, count(r.id) as runs
    from batches b left join schedule_runs r on r.batch_id = b.id
    where b.schedule_id is not null group by b.id having count(r.id) <> 1`,
  'every schedule that is due has a run': `
    select id, name, next_due_at from schedules where next_due_at <= now()`,
  'a batch that has ended has a delivery for its webhook': `
    with ${DELIVERIES}
    select b.id, b.state, b.finished_at from batches b
    left join deliveries d on d.account_id = b.account_id and d.batch_id = b.id::text
    where b.webhook is not null and b.finished_at is not null and d.id is null`,
  // The others may have been retried, and end a second time.
  'the end of a run has one delivery': `
    with ${DELIVERIES}
    select b.id, count(d.id) as deliveries from batches b
    left join deliveries d on d.account_id = b.account_id and d.batch_id = b.id::text
    where b.schedule_id is not null and b.finished_at is not null group by b.id having count(d.id) <> 1`,
  'every delivery is delivered': `
    select id, account_id, state, attempts, next_attempt_at, last_status, last_error
    from outbox where channel = 'webhook' and state <> 'delivered'`,
};

/** Recomputes the counts and states of batches, schedules and webhooks. */
export async function auditBackground(database: Pick<Database, 'query'>): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const [promise, query] of Object.entries(AUDITS)) {
    const { rows } = await database.query<Record<string, unknown>>(query);
    faults.push(...rows.map((row) => ({ promise, row })));
  }
  return faults;
}

/** Compares the stored batches with those that customers received. */
export async function auditWanted(database: Database, wanted: readonly WantedBatch[]): Promise<Fault[]> {
  const { rows } = await database.query<{ id: string; accountId: number; key: string; items: number }>(
    `select id, account_id as "accountId", idempotency_key as key, item_count as items from batches
     where schedule_id is null`,
  );
  const found = new Map(rows.map((row) => [`${row.accountId} ${row.key}`, row]));
  return wanted.flatMap(({ accountId, idempotencyKey, batchId, items }) => {
    const batch = found.get(`${accountId} ${idempotencyKey}`);
    if (batchId === null || (batch?.id === batchId && batch.items === items)) return [];
    const row = { accountId, idempotencyKey, batchId, items, found: batch };
    return [{ promise: 'a batch that a customer received exists with all its items', row }];
  });
}

/** Checks that every tick of a schedule has its run, or a later run that covers it. */
export async function auditTicks(database: Database, ticks: readonly SetTick[]): Promise<Fault[]> {
  const { rows } = await database.query<{ scheduleId: string; last: Date }>(
    `select schedule_id as "scheduleId", max(due_at) as last from schedule_runs group by schedule_id`,
  );
  const last = new Map(rows.map((row) => [row.scheduleId, row.last.getTime()]));
  return ticks
    .filter(({ scheduleId, dueAt }) => (last.get(scheduleId) ?? 0) < dueAt.getTime())
    .map((tick) => ({ promise: 'every tick has a run', row: { ...tick } }));
}

/** Compares the received messages with the events. */
export async function auditMessages(database: Database, messages: readonly SoakMessage[]): Promise<Fault[]> {
  const { rows } = await database.query<{ id: string; payload: string }>(
    `select id, payload from outbox where channel = 'webhook'`,
  );
  const arrived = new Map<string, SoakMessage[]>();
  for (const message of messages) arrived.set(message.id, [...(arrived.get(message.id) ?? []), message]);
  const stored = new Set(rows.map(({ id }) => id));
  return [
    ...rows
      .filter(({ id }) => !arrived.has(id))
      .map((row) => ({ promise: 'every delivered message has arrived', row: { ...row } })),
    ...rows.flatMap(({ id, payload }) =>
      (arrived.get(id) ?? [])
        .filter(({ body }) => body !== payload)
        .map((row) => ({ promise: 'every attempt sends the same message', row: { ...row } })),
    ),
    ...messages
      .filter(({ isSigned, id }) => !isSigned || !stored.has(id))
      .map((row) => ({ promise: 'every message is signed and in the log', row: { ...row } })),
  ];
}
