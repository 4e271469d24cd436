import fc from 'fast-check';
import { v7 as uuid } from 'uuid';
import { describe, expect, test } from 'vitest';
import {
  type ActivityRange,
  type ActivityReport,
  endOf,
  p95,
  startsOf,
} from '../../../src/operator/activity/activity.ts';
import { foldHours, recordWeeks } from '../../../src/operator/activity/keep-activity.ts';
import { readActivity } from '../../../src/operator/activity/read-activity.ts';
import { BOUND_COLUMNS, HOUR_COLUMNS, RUN_TIME_BOUNDS_MS } from '../../../src/operator/call-records.ts';
import { DAY_MS, HOUR_MS } from '../../../src/platform/durations.ts';
import { openTestDatabase } from '../../support/database.ts';
import { repetitions } from '../../support/repetitions.ts';

const database = await openTestDatabase();
const NOW = Date.parse('2026-11-18T09:30:00Z');
const FIRST_TEST = 1_000_000_000_000;

/** Times before now, most of them in the last days. */
const ago = fc.oneof(
  fc.nat(2 * DAY_MS),
  fc.nat(40 * DAY_MS),
  fc.nat(390 * DAY_MS),
  fc.constantFrom(HOUR_MS / 2, 9.5 * HOUR_MS, 2 * DAY_MS + 9.5 * HOUR_MS),
);
const time = ago.map((ms) => NOW - ms);
const list = <Value>(of: fc.Arbitrary<Value>, maxLength = 25) => fc.array(of, { maxLength });
const account = fc.integer({ min: 1, max: 5 });
const operation = fc.constantFrom('market.product', 'market.search', 'keywords.research');

const history = fc.record({
  created: fc.array(time, { minLength: 1, maxLength: 5 }),
  /** Purchases, with the share that was refunded later. */
  bought: list(
    fc.record({
      account,
      at: time,
      cents: fc.constantFrom(0, 500, 1_999),
      currency: fc.constantFrom('usd', 'usd', 'eur'),
      isTest: fc.constantFrom(false, false, true),
      refundedAt: fc.option(time),
    }),
  ),
  plans: list(fc.record({ account, at: time, days: fc.constantFrom(1, 30, 90), isTest: fc.boolean() })),
  calls: list(fc.record({ account, at: time, operation, isTest: fc.constantFrom(false, false, true) }), 60),
  hours: list(
    fc.record({
      at: time,
      operation,
      calls: fc.nat(50),
      hits: fc.nat(20),
      failed: fc.nat(9),
      jobs: list(fc.constantFrom(10, 50, 51, 999, 40_000, 2_000_000), 40),
    }),
    40,
  ),
  queues: list(fc.record({ at: time, pool: fc.constantFrom('market', 'graph'), waiting: fc.nat(99) })),
});

type History = typeof history extends fc.Arbitrary<infer Value> ? Value : never;

const ask = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await database.query<Row>(text, values)).rows;

async function fill({ created, bought, plans, calls, hours, queues }: History): Promise<void> {
  await ask(
    `truncate accounts, orders, subscriptions, packs, plans, stripe_payments, usage_days, finished_calls, operation_hours, queue_hours,
       active_weeks restart identity cascade`,
  );
  for (const [i, at] of created.entries()) {
    await ask('insert into accounts (name, created_at) values ($1, $2)', [`c${i}`, new Date(at)]);
    await ask(
      'insert into accounts (id, name, created_at, live_account_id) overriding system value values ($1, $2, $3, $4)',
      [FIRST_TEST + i + 1, `t${i}`, new Date(at), i + 1],
    );
  }
  const of = (one: { account: number; isTest: boolean }) =>
    (one.isTest ? FIRST_TEST : 0) + (one.account % created.length) + 1;
  await ask(`insert into plans (code, name) values ('p', 'p')`);
  for (const [i, one] of bought.entries()) await buy(of(one), one, i);
  for (const one of plans)
    await ask(
      `insert into subscriptions (account_id, wallet, plan_id, starts_at, ends_at) values ($1, 'general', 1, $2, $3)`,
      [of(one), new Date(one.at), new Date(one.at + one.days * DAY_MS)],
    );
  for (const one of calls) await call(of(one), one);
  for (const one of hours) await count(one);
  for (const { at, pool, waiting } of queues)
    await ask(
      `insert into queue_hours as q values (date_trunc('hour', $1::timestamptz, 'UTC'), $2, $3)
       on conflict (hour, pool) do update set waiting = greatest(q.waiting, excluded.waiting)`,
      [new Date(at), pool, waiting],
    );
}

async function buy(accountId: number, one: History['bought'][number], i: number): Promise<void> {
  const { at, cents, currency, refundedAt } = one;
  await ask(
    `with pack as (
       insert into packs (account_id, wallet, total_units, remaining_units, rate_limit_per_minute, valid_from, valid_until)
       values ($1, 'general', 10, 10, 60, $2, $2::timestamptz + interval '30 days') returning id
     ), bought as (
       insert into orders (id, account_id, kind, offer_code, offer_name, wallet, quantity, amount_cents, currency, provider, state,
         created_at, ended_at, pack_id, pack_units, pack_rate_limit_per_minute, pack_valid_days)
       select gen_random_uuid(), $1, 'pack', 'k', 'k', 'general', 1, $3, $4, 'stripe', 'granted', $2, $2, id, 10, 60, 30 from pack
       returning id, pack_id
     )
     insert into stripe_payments (id, account_id, purchase_id, pack_id, at, amount_cents, reversals)
     select $5, $1, id, pack_id, $2, $3, $6 from bought`,
    [
      accountId,
      new Date(at),
      cents,
      currency,
      `in_${i}`,
      JSON.stringify(refundedAt === null ? [] : [{ at: new Date(refundedAt), cents }]),
    ],
  );
}

async function call(accountId: number, { at, operation }: History['calls'][number]): Promise<void> {
  await ask(
    `with called as (
       insert into finished_calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged, accepted_at,
         deadline_at, finished_at, attempts, background)
       values ($1, $4, $3, '', 'settled',
         'market', 1, 1, $2, $2, $2, 1, false)
     )
     insert into usage_days as d (account_id, day, operation, calls, units) values ($1, ($2 at time zone 'UTC')::date, $3, 1, 1)
     on conflict (account_id, day, operation, key_id) do update set calls = d.calls + 1`,
    [accountId, new Date(at), operation, uuid({ msecs: at })],
  );
}

async function count(one: History['hours'][number]): Promise<void> {
  const { at, operation, calls, hits, failed, jobs } = one;
  const columnOf = (ms: number) => BOUND_COLUMNS[RUN_TIME_BOUNDS_MS.findIndex((bound) => ms <= bound)];
  const bounds = BOUND_COLUMNS.map((own) => jobs.filter((ms) => columnOf(ms) === own).length);
  const values = [calls, calls * 2, calls * 3, calls * 4, hits, failed, jobs.length, ...bounds];
  await ask(
    `insert into operation_hours as h (hour, operation, ${HOUR_COLUMNS.join(', ')})
     values (date_trunc('hour', $1::timestamptz, 'UTC'), $2, ${values.map((_, i) => `$${i + 3}`).join(', ')})
     on conflict (hour, operation) do update set ${HOUR_COLUMNS.map((own) => `${own} = h.${own} + excluded.${own}`).join(', ')}`,
    [new Date(at), operation, ...values],
  );
}

type Row = Record<string, number | null>;

/** The figures of a time, each by a statement of its own. */
async function expected(from: number, to: number): Promise<Row> {
  const [row] = await ask<Row>(
    `select
       (select coalesce(sum(amount_cents), 0) from orders where currency = 'usd' and ended_at >= $1 and ended_at < $2
         and account_id < ${FIRST_TEST})::bigint as paid,
       (select coalesce(sum((r ->> 'cents')::bigint), 0) from stripe_payments p join orders o on o.id = p.purchase_id,
         jsonb_array_elements(reversals) r where currency = 'usd' and (r ->> 'at')::timestamptz >= $1
         and (r ->> 'at')::timestamptz < $2 and p.account_id < ${FIRST_TEST})::bigint as refunded,
       (select count(*) from accounts where id < ${FIRST_TEST} and created_at >= $1 and created_at < $2) as "signUps",
       (select count(distinct account_id) from finished_calls where account_id < ${FIRST_TEST} and accepted_at >= $1
         and accepted_at < $2) as active,
       (select count(*) from (select min(ended_at) as at from orders where amount_cents > 0 and account_id < ${FIRST_TEST}
         group by account_id) o where at >= $1 and at < $2) as "firstPurchases",
       (select count(*) from subscriptions s where account_id < ${FIRST_TEST} and ends_at >= $1 and ends_at < $2 and ends_at <= $3
         and (select count(*) from subscriptions r where r.account_id = s.account_id and r.starts_at <= s.ends_at
           and r.ends_at > s.ends_at) = 0) as ended,
       (select count(*) from subscriptions where account_id < ${FIRST_TEST} and starts_at < $1 and ends_at >= $1) as alive`,
    [new Date(from), new Date(to), new Date(NOW)],
  );
  const [hours] = await ask<Row>(
    `select coalesce(sum(units_sold), 0)::bigint as units, coalesce(sum(calls), 0)::bigint as calls,
       coalesce(sum(tokens_spent), 0) as spent, coalesce(sum(tokens_saved), 0) as saved,
       coalesce(sum(cache_hits), 0)::bigint as hits,
       coalesce(sum(failed), 0)::bigint as failed
     from operation_hours where hour >= $1 and hour < $2`,
    [new Date(from), new Date(to)],
  );
  return { ...row, ...hours };
}

const share = (part: number, whole: number) => (whole === 0 ? null : (100 * part) / whole);

/** Compares a report with the figures of each of its steps. */
async function check(report: ActivityReport): Promise<void> {
  const { range, charts } = report;
  const values = new Map(charts.flatMap(({ series }) => series.map((one) => [one.id, one.values] as const)));
  const starts = startsOf(range, NOW);
  const [first] = await ask<{ at: Date }>(
    `select min(created_at) as at from accounts where id < ${FIRST_TEST}`,
  );
  for (const [i, start] of starts.entries()) {
    const end = endOf(range, start);
    const row = await expected(start, end);
    const value = (id: string) => values.get(id)?.[i];
    const number = (name: string) => row[name] ?? 0;
    const isKnown = first !== undefined && end > first.at.getTime();
    const names = 'paid refunded signUps active firstPurchases units calls spent saved'.split(' ');
    for (const name of names) expect(value(name), `${range} ${i} ${name}`).toBe(isKnown ? row[name] : null);
    if (!isKnown) continue;
    expect(value('conversion')).toBe(share(number('firstPurchases'), number('signUps')));
    expect(value('churn')).toBe(share(number('ended'), number('alive')));
    expect(value('hitRate')).toBe(share(number('hits'), number('calls')));
    expect(value('errorRate')).toBe(share(number('failed'), number('failed') + number('calls')));
    for (const pool of charts.find(({ id }) => id === 'queue')?.series ?? []) {
      const [most] = await ask<{ waiting: number | null }>(
        'select max(waiting) as waiting from queue_hours where pool = $1 and hour >= $2 and hour < $3',
        [pool.id, new Date(start), new Date(end)],
      );
      expect(pool.values[i]).toBe(most?.waiting);
    }
  }
}

/** The run time within which 95 % of the jobs of an operation ended, from a list of all of them. */
function p95Of(hours: History['hours'], operation: string, from: number): number | null {
  const hourOf = (one: History['hours'][number]) => Math.floor(one.at / HOUR_MS);
  const own = hours.filter((one) => one.operation === operation && hourOf(one) * HOUR_MS >= from);
  return nearest(own.flatMap(({ jobs }) => jobs));
}

function nearest(jobs: readonly number[]): number | null {
  const sorted = jobs.toSorted((a, b) => a - b);
  const ms = sorted[Math.ceil(0.95 * sorted.length) - 1];
  const bound = ms === undefined ? undefined : RUN_TIME_BOUNDS_MS.find((one) => ms <= one);
  return bound === undefined ? null : bound / 1000;
}

const read = (range: ActivityRange) => readActivity(database, range, { currency: 'usd', now: NOW });

test('after any history, all figures equal those of plain statements, also when old rows are summed', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (drawn) => {
      await fill(drawn);
      const before = await Promise.all([read('24h'), read('365d')]);
      await check(await read('30d'));
      for (const report of before) await check(report);
      for (const { operation, p95Seconds } of before[1].operations)
        expect(p95Seconds, operation).toBe(p95Of(drawn.hours, operation, Date.parse(before[1].from)));
      await recordWeeks(database, NOW);
      await foldHours(database, NOW);
      expect(await Promise.all([read('24h'), read('365d')])).toEqual(before);
      await recordWeeks(database, NOW);
      expect(await read('365d')).toEqual(before[1]);
    }),
    // Each run makes hundreds of statements.
    { numRuns: repetitions(4), endOnFailure: true },
  );
});

test('old hours become one row a day', async () => {
  await ask('truncate operation_hours');
  const old = Date.parse('2026-09-01T00:00:00Z');
  const counts = { calls: 5, hits: 1, failed: 1, jobs: [10 as const, 10 as const] };
  const hour = { operation: 'market.product' as const, ...counts };
  for (const at of [0, 1, 23, 24].map((h) => old + h * HOUR_MS)) await count({ ...hour, at });
  await count({ ...hour, at: NOW });
  await foldHours(database, NOW);
  expect(await ask('select hour, calls, cache_hits, jobs, ms_50 from operation_hours order by hour')).toEqual(
    [
      { hour: new Date(old), calls: 15, cache_hits: 3, jobs: 6, ms_50: 6 },
      { hour: new Date(old + DAY_MS), calls: 5, cache_hits: 1, jobs: 2, ms_50: 2 },
      { hour: new Date(Date.parse('2026-11-18T09:00:00Z')), calls: 5, cache_hits: 1, jobs: 2, ms_50: 2 },
    ],
  );
});

describe('a range', () => {
  test.for([
    ['24h', 24, '2026-11-17T10:00:00.000Z', '2026-11-18T09:00:00.000Z'],
    ['30d', 30, '2026-10-20T00:00:00.000Z', '2026-11-18T00:00:00.000Z'],
    // 53 Mondays reach back 365 days from any day of the week.
    ['365d', 53, '2025-11-17T00:00:00.000Z', '2026-11-16T00:00:00.000Z'],
  ] as const)('%s has %i steps until the present one', ([range, steps, first, last]) => {
    const starts = startsOf(range, NOW).map((start) => new Date(start).toISOString());
    expect([starts.length, starts[0], starts.at(-1)]).toEqual([steps, first, last]);
  });
});

test.for([
  [0, [], null],
  [100, [94, 1, 5], 2],
  [100, [95, 0, 5], 1],
  // The bounds do not reach as far as the jobs.
  [100, [94, 0, 0], null],
] as const)('the p95 of %o jobs, %o of them up to each bound, is %o', ([jobs, counts, bound]) => {
  expect(p95(jobs, counts, [1, 2, 3])).toBe(bound);
});
