import { v7 as uuid } from 'uuid';
import { beforeEach, describe, expect } from 'vitest';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/authentication.ts';
import { setMember } from '../../src/accounts/members.ts';
import { grantPack, grantSubscription, upsertPlan } from '../../src/billing/grants.ts';
import { erasePerson } from '../../src/operator/personal-data/erasure.ts';
import { queueDueNotices } from '../../src/outbox/mail/due-notices.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { ownerOf } from '../support/customer.ts';
import { test as base } from '../support/souk-test.ts';

const NOW = Date.parse('2026-03-04T10:00:00Z');

let number = 0;
beforeEach(() => {
  number += 1;
});

/** Sets when the address of the owner was confirmed. */
async function confirm(database: Database, accountId: number, at: Date | null): Promise<void> {
  await database.query(
    'update people p set email_confirmed_at = $2 from account_owners o where o.account_id = $1 and p.id = o.person_id',
    [accountId, at],
  );
}

/** An account with a confirmed address, and a function that returns the kinds of mails that become due for it at a time. */
const test = base
  .extend('accountId', async ({ database }) => {
    await database.query('delete from outbox');
    const id = await ensureAccount(database, `ann-${number}@customers.example`, 'Ann', NOW);
    await confirm(database, id, new Date(NOW));
    return id;
  })
  .extend('dueAt', ({ database, accountId }) => async (now: number = NOW) => {
    const before = await kindsOf(database, accountId);
    await queueDueNotices(database, { needsConfirmed: true, now });
    // Nothing is due twice.
    expect(await queueDueNotices(database, { needsConfirmed: true, now })).toBe(0);
    return (await kindsOf(database, accountId)).slice(before.length);
  });

async function kindsOf(database: Database, accountId: number): Promise<string[]> {
  const { rows } = await database.query<{ kind: string }>(
    'select kind from outbox where account_id = $1 order by id',
    [accountId],
  );
  return rows.map(({ kind }) => kind);
}

function pack(database: Database, accountId: number, units = 1_000): Promise<number> {
  const [validFrom, validUntil] = [new Date(NOW - DAY_MS), new Date(NOW + 300 * DAY_MS)];
  const grant = {
    accountId,
    wallet: 'general',
    units,
    rateLimitPerMinute: 60,
    validFrom,
    validUntil,
  } as const;
  return grantPack(database, grant, NOW);
}

const leave = (database: Database, packId: number, units: number) =>
  database.query('update packs set remaining_units = $2 where id = $1', [packId, units]);

describe('units of packs', () => {
  test('are announced at 20 % and at 0, once for each grant', async ({ database, accountId, dueAt }) => {
    const first = await pack(database, accountId);
    await leave(database, first, 201);
    expect(await dueAt()).toEqual([]);
    await leave(database, first, 200);
    expect(await dueAt()).toEqual(['units_low']);
    // A refund and another use are the same crossing.
    await leave(database, first, 500);
    expect(await dueAt()).toEqual([]);
    await leave(database, first, 100);
    expect(await dueAt()).toEqual([]);
    await leave(database, first, 0);
    expect(await dueAt()).toEqual(['units_empty']);
    const second = await pack(database, accountId);
    expect(await dueAt()).toEqual([]);
    await leave(database, second, 300);
    expect(await dueAt()).toEqual(['units_low']);
  });

  test('are not announced to an address that is not confirmed', async ({ database, accountId, dueAt }) => {
    await leave(database, await pack(database, accountId), 0);
    await confirm(database, accountId, null);
    expect(await dueAt()).toEqual([]);
    await confirm(database, accountId, new Date(NOW));
    expect(await dueAt()).toEqual(['units_empty']);
  });
});

describe('a plan', () => {
  async function plan(database: Database, accountId: number, from: number, until: number): Promise<number> {
    const limits = { minuteLimit: null, dailyLimit: null, monthlyLimit: 1_000 };
    const planId = await upsertPlan(database, { code: `plan-${number}`, name: 'Basic', ...limits });
    const [startsAt, endsAt] = [new Date(from), new Date(until)];
    const grant = { accountId, wallet: 'general', planId, quantity: 2, startsAt, endsAt } as const;
    return grantSubscription(database, grant);
  }
  /** Sets the state of the plan that Stripe renews. */
  async function renew(database: Database, accountId: number, state: string): Promise<void> {
    const order = uuid();
    await database.query(
      `insert into orders (id, account_id, kind, offer_code, offer_name, wallet, quantity, months, amount_cents, currency,
         provider, created_at, plan_id)
       select $1, $2, 'plan', 'basic', 'Basic', 'general', 1, 1, 1, 'usd', 'stripe', now(), max(id) from plans`,
      [order, accountId],
    );
    await database.query(
      `insert into renewing_plans (id, account_id, purchase_id, wallet, state, plan_id, quantity, amount_cents, period_start,
         period_end, seen_at)
       select 'sub_' || $1::bigint, $1::bigint, $2, 'general', $3, max(id), 1, 1, now(), now(), now() from plans
       on conflict (id) do update set state = excluded.state`,
      [accountId, order, state],
    );
  }
  const use = (database: Database, id: number, used: number, month: number) =>
    database.query(
      'update subscriptions set month_start = $3, month_end = $4, month_used = $2 where id = $1',
      [id, used, new Date(month), new Date(month + 30 * DAY_MS)],
    );

  test('is announced at 20 % and at 0 of the units of each month', async ({ database, accountId, dueAt }) => {
    const id = await plan(database, accountId, NOW - DAY_MS, NOW + 90 * DAY_MS);
    const month = NOW - DAY_MS;
    await use(database, id, 1_599, month);
    expect(await dueAt()).toEqual([]);
    await use(database, id, 1_600, month);
    expect(await dueAt()).toEqual(['units_low']);
    await use(database, id, 2_000, month);
    expect(await dueAt()).toEqual(['units_empty']);
    await use(database, id, 1_700, month + 30 * DAY_MS);
    expect(await dueAt()).toEqual([]);
    expect(await dueAt(month + 31 * DAY_MS)).toEqual(['units_low']);
  });

  test('is announced 7 days and 1 day before its end, unless another follows or it renews', async ({
    database,
    accountId,
    dueAt,
  }) => {
    const end = NOW + 30 * DAY_MS;
    await plan(database, accountId, NOW - DAY_MS, end);
    expect(await dueAt(end - 7 * DAY_MS - 1)).toEqual([]);
    expect(await dueAt(end - 7 * DAY_MS)).toEqual(['plan_ends']);
    expect(await dueAt(end - 2 * DAY_MS)).toEqual([]);
    expect(await dueAt(end - DAY_MS)).toEqual(['plan_ends']);
    expect(await dueAt(end)).toEqual([]);
    await database.query('delete from outbox');
    await renew(database, accountId, 'active');
    expect(await dueAt(end - DAY_MS)).toEqual([]);
    await renew(database, accountId, 'cancelling');
    expect(await dueAt(end - DAY_MS)).toEqual(['plan_ends']);
    await database.query('delete from outbox');
    await plan(database, accountId, end, end + 30 * DAY_MS);
    expect(await dueAt(end - DAY_MS)).toEqual([]);
  });
});

test('a notice that the members have received is not sent again when the first recipient deletes the profile', async ({
  database,
  accountId,
  dueAt,
}) => {
  const { rows } = await database.query<{ id: number }>(
    'insert into people (email, name, created_at, email_confirmed_at) values ($1, $1, $2, $2) returning id',
    [`bob-${number}@customers.example`, new Date(NOW)],
  );
  const member = { accountId, personId: rows[0]?.id ?? 0, role: 'owner' } as const;
  await inTransaction(database, (client) => setMember(client, member, NOW + 1));
  await leave(database, await pack(database, accountId), 0);
  expect(await dueAt()).toEqual(['units_empty', 'units_empty']);
  const first = await ownerOf(database, accountId);
  await inTransaction(database, (client) => erasePerson(client, first));
  expect(await dueAt()).toEqual([]);
  expect(await kindsOf(database, accountId)).toEqual(['units_empty']);
});

test('a new key is announced once, also to unconfirmed addresses', async ({ database, accountId, dueAt }) => {
  await confirm(database, accountId, null);
  await createKey(database, accountId, NOW);
  expect(await dueAt(NOW + 1_000)).toEqual(['key_created']);
  expect(await dueAt(NOW + 60_000)).toEqual([]);
  await createKey(database, accountId, NOW + 120_000);
  expect(await dueAt(NOW + 120_000)).toEqual(['key_created']);
});

test('a valid key is announced once after 90 days without use, and again after it was used and unused', async ({
  database,
  accountId,
  dueAt,
}) => {
  await createKey(database, accountId, NOW);
  expect(await dueAt(NOW + 90 * DAY_MS - 1)).toEqual([]);
  expect(await dueAt(NOW + 90 * DAY_MS)).toEqual(['key_unused']);
  expect(await dueAt(NOW + 96 * DAY_MS)).toEqual([]);
  const used = NOW + 97 * DAY_MS;
  await database.query('update api_keys set last_used_at = $2 where account_id = $1', [
    accountId,
    new Date(used),
  ]);
  expect(await dueAt(used + 91 * DAY_MS)).toEqual(['key_unused']);
  await database.query('delete from outbox');
  await database.query('update api_keys set revoked_at = last_used_at where account_id = $1', [accountId]);
  expect(await dueAt(used + 91 * DAY_MS)).toEqual([]);
});

describe('a schedule', () => {
  async function schedule(database: Database, accountId: number): Promise<string> {
    const id = uuid();
    await database.query(
      `insert into schedules (id, account_id, name, cron, timezone, feed_window, run_hours, operation, item_count,
         units_quoted, items, created_at, updated_at, next_due_at)
       values ($1, $2, 'Prices', '0 * * * *', 'UTC', 'any', 1, 'market.product', 1, 1, '', now(), now(), now())`,
      [id, accountId],
    );
    return id;
  }
  let minute = 0;
  /** Adds a run. `done`: the results of its batch; null: the run failed without a batch. */
  async function run(database: Database, accountId: number, scheduleId: string, done: number | null) {
    minute += 1;
    const at = new Date(NOW + minute * 60_000);
    const batchId = done === null ? null : uuid();
    if (batchId !== null)
      await database.query(
        `insert into batches (id, account_id, operation, state, feed_window, item_count, units_quoted, request_hash,
           created_at, deadline_at, finished_at, done_items, failed_items, schedule_id)
         values ($1, $2, 'market.product', 'done', 'any', 1, 1, '', $3, $3, $3, $4, 1 - $4, $5)`,
        [batchId, accountId, at, done, scheduleId],
      );
    await database.query(
      `insert into schedule_runs (id, schedule_id, due_at, started_at, trigger, state, reason, batch_id, succeeded)
       values ($1, $2, $3, $3, 'tick', $4, $5, $6, $7)`,
      [
        uuid(),
        scheduleId,
        at,
        batchId === null ? 'failed' : 'started',
        batchId === null ? 'items[0].asin: is wrong' : null,
        batchId,
        done === null ? null : done > 0,
      ],
    );
  }

  test('is announced after three failed runs one after another, once for each series', async ({
    database,
    accountId,
    dueAt,
  }) => {
    const id = await schedule(database, accountId);
    const add = async (...runs: (number | null)[]) => {
      for (const done of runs) await run(database, accountId, id, done);
      return dueAt();
    };
    expect(await add(null, 0)).toEqual([]);
    expect(await add(1)).toEqual([]);
    expect(await add(null, 0)).toEqual([]);
    expect(await add(0)).toEqual(['schedule_failing']);
    expect(await add(null, null)).toEqual([]);
    expect(await add(1, null, null)).toEqual([]);
    expect(await add(null)).toEqual(['schedule_failing']);
  });

  test('is announced after three failed runs whose batches were deleted', async ({
    database,
    accountId,
    dueAt,
  }) => {
    const id = await schedule(database, accountId);
    for (const done of [1, 0, 0, 0]) await run(database, accountId, id, done);
    await database.query('delete from batches where account_id = $1', [accountId]);
    expect(await dueAt()).toEqual(['schedule_failing']);
  });

  test('is announced for a screen, which has no next time, unless it is paused', async ({
    database,
    accountId,
    dueAt,
  }) => {
    const id = await schedule(database, accountId);
    const change = "update schedules set cron = '', next_due_at = null, paused = $2 where id = $1";
    await database.query(change, [id, true]);
    for (const done of [null, 0, null]) await run(database, accountId, id, done);
    expect(await dueAt()).toEqual([]);
    await database.query(change, [id, false]);
    expect(await dueAt()).toEqual(['schedule_failing']);
  });

  test('is announced once a week while a run waits for units', async ({ database, accountId, dueAt }) => {
    const id = await schedule(database, accountId);
    await run(database, accountId, id, 1);
    const wait = (reason: string) =>
      database.query(
        `update batches set finished_at = null, state = 'running', waiting_reason = $2, waiting_until = $3
         where account_id = $1`,
        [accountId, reason, new Date(NOW + 30 * DAY_MS)],
      );
    await wait('QUOTA_MINUTE_EXCEEDED');
    expect(await dueAt()).toEqual([]);
    await wait('QUOTA_MONTHLY_EXCEEDED');
    expect(await dueAt()).toEqual(['schedule_waits']);
    expect(await dueAt(NOW + DAY_MS)).toEqual([]);
    expect(await dueAt(NOW + 7 * DAY_MS)).toEqual(['schedule_waits']);
  });
});
