import { FIRST_TEST_ACCOUNT } from '../../accounts/authentication.ts';
import { firstIdAt } from '../../billing/calls.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { unixMs } from '../../platform/db/rows.ts';
import { readSnapshot } from '../report-snapshot.ts';
import {
  ACTIVITY_CHARTS,
  ACTIVITY_RANGES,
  type ActivityChartId,
  type ActivityRange,
  type ActivityReport,
  type ActivitySeries,
  type ActivityStep,
  endOf,
  highest,
  percent,
  startsOf,
  sum,
} from './activity.ts';
import { readOperations } from './read-operations.ts';
import {
  dates,
  inSteps,
  isoOf,
  type Steps,
  seriesSince,
  stepOf,
  type ToSeries,
  type Values,
} from './steps.ts';

/** Returns the figures of the business over time. All are of one snapshot of the database. Test accounts have no part in them. */
export function readActivity(
  database: Database,
  range: ActivityRange,
  { currency, now }: { currency: string; now: number },
): Promise<ActivityReport> {
  return readSnapshot(database, async (client) => {
    const starts = startsOf(range, now);
    const step = ACTIVITY_RANGES[range][1];
    const steps = { step, starts, end: endOf(range, starts.at(-1) ?? now), now };
    const toSeries = seriesSince(starts, await firstKnown(client, steps));
    const { operations, charts } = await readOperations(client, steps, toSeries);
    const series: Record<ActivityChartId, ActivitySeries[]> = {
      revenue: await revenue(client, steps, currency, toSeries),
      ...(await customers(client, steps, toSeries)),
      ...charts,
      queue: await queue(client, steps, toSeries),
    };
    return {
      range,
      step,
      from: isoOf(starts[0] ?? now),
      to: isoOf(now),
      currency,
      starts: starts.map(isoOf),
      charts: (Object.keys(ACTIVITY_CHARTS) as ActivityChartId[]).map((id) => ({
        id,
        ...ACTIVITY_CHARTS[id],
        series: series[id],
      })),
      operations,
    };
  });
}

/** Returns the number of the step in which the first account was created. */
async function firstKnown(client: Queryable, { starts }: Steps): Promise<number> {
  const { rows } = await client.query<{ at: number | null }>(
    `select ${unixMs('min(created_at)')} as at from accounts where live_account_id is null`,
  );
  const at = rows[0]?.at ?? Number.POSITIVE_INFINITY;
  return Math.max(0, starts.filter((start) => start <= at).length - 1);
}

async function revenue(client: Queryable, steps: Steps, currency: string, toSeries: ToSeries) {
  const { rows } = await client.query<{ step: number; paid: number; refunded: number }>(
    `select step, sum(paid)::bigint as paid, sum(refunded)::bigint as refunded from (
       select ${stepOf('paid_at')} as step, amount_cents as paid, 0 as refunded from paid_grants
       where currency = $2 and paid_at >= $3 and paid_at < $4 and account_id < ${FIRST_TEST_ACCOUNT}
       union all
       select ${stepOf("(r ->> 'at')::timestamptz")}, 0, (r ->> 'cents')::bigint
       from stripe_payments p join orders o on o.id = p.purchase_id cross join jsonb_array_elements(p.reversals) as r
       where p.reversals <> '[]' and o.currency = $2 and (r ->> 'at')::timestamptz < $4 and p.account_id < ${FIRST_TEST_ACCOUNT}
     ) as moves where step >= 0 group by step`,
    [dates(steps.starts), currency, new Date(steps.starts[0] ?? 0), new Date(steps.end)],
  );
  const paid = inSteps(steps, rows, (row) => row.paid);
  const refunded = inSteps(steps, rows, (row) => row.refunded);
  return [
    toSeries('paid', 'Paid', paid, sum(paid)),
    toSeries('refunded', 'Refunded', refunded, sum(refunded)),
  ];
}

async function customers(client: Queryable, steps: Steps, toSeries: ToSeries) {
  const { starts, end } = steps;
  const { rows } = await client.query<{ step: number; created: number; bought: number }>(
    `select step, sum(created)::bigint as created, sum(bought)::bigint as bought from (
       select ${stepOf('created_at')} as step, 1 as created, 0 as bought from accounts
       where created_at >= $2 and created_at < $3 and live_account_id is null
       union all
       select ${stepOf('min(o.ended_at)')}, 0, 1 from orders o
       where o.ended_at >= $2 and o.ended_at < $3 and o.state = 'granted' and o.amount_cents > 0
         and o.account_id < ${FIRST_TEST_ACCOUNT} and not exists (select from orders b where b.account_id = o.account_id and b.state = 'granted'
           and b.amount_cents > 0 and b.ended_at < $2)
       group by o.account_id
     ) as accounts group by step`,
    [dates(starts), new Date(starts[0] ?? 0), new Date(end)],
  );
  const created = inSteps(steps, rows, (row) => row.created);
  const bought = inSteps(steps, rows, (row) => row.bought);
  const active = await activeCustomers(client, steps);
  const { ended, alive } = await plans(client, steps);
  const shares = (parts: Values, wholes: Values) => parts.map((part, i) => percent(part, wholes[i] ?? null));
  return {
    customers: [
      toSeries('signUps', 'Sign-ups', created, sum(created)),
      toSeries('active', 'Active customers', active.values, active.total),
      toSeries('firstPurchases', 'First purchases', bought, sum(bought)),
    ],
    conversion: [
      toSeries(
        'conversion',
        'Conversion',
        shares(bought, created),
        percent(sum(bought), sum(created)),
        bought,
      ),
      toSeries('churn', 'Churn', shares(ended, alive), percent(sum(ended), alive[0] ?? null), ended),
    ],
  };
}

const FIRST_DAY = "($1::timestamptz at time zone 'UTC')::date";

/**
 * SQL of the steps and accounts with a call that was accepted in the step and has ended. $1 is the first start; $2 and $3 are the ids of
 * calls between which an hour is. Calls have no index by time alone, so that the accounts of the days are looked up one by one.
 */
const ACTIVE: Record<ActivityStep, string> = {
  hour: `select n - 1, a.account_id
    from (select distinct account_id from usage_days where day >= ${FIRST_DAY} and account_id < ${FIRST_TEST_ACCOUNT}) as a
    cross join unnest($2::uuid[], $3::uuid[]) with ordinality as h (first_id, next_id, n)
    cross join lateral (select from finished_calls c
      where c.account_id = a.account_id and c.id >= h.first_id and c.id < h.next_id limit 1) as c`,
  day: `select distinct day - ${FIRST_DAY}, account_id from usage_days
    where day >= ${FIRST_DAY} and account_id < ${FIRST_TEST_ACCOUNT}`,
  week: `select (week - ${FIRST_DAY}) / 7, unnest(accounts) from active_weeks
    where week >= ${FIRST_DAY} and week < (select max(week) - 7 from active_weeks)
    union all
    select distinct (day - ${FIRST_DAY}) / 7, account_id from usage_days
    where day >= greatest((select max(week) - 7 from active_weeks), ${FIRST_DAY}) and account_id < ${FIRST_TEST_ACCOUNT}`,
};

async function activeCustomers(client: Queryable, { starts, step, end }: Steps) {
  const ids = [...starts, end].map(firstIdAt);
  const { rows } = await client.query<{ step: number | null; accounts: number }>(
    `with active (step, account_id) as (${ACTIVE[step]})
     select step, count(*) as accounts from active group by step
     union all select null, count(distinct account_id) from active`,
    [new Date(starts[0] ?? 0), ...(step === 'hour' ? [ids.slice(0, -1), ids.slice(1)] : [])],
  );
  const values: Values = starts.map(() => 0);
  for (const { step, accounts } of rows) if (step !== null && step in values) values[step] = accounts;
  return { values, total: rows.find(({ step }) => step === null)?.accounts ?? 0 };
}

/** Counts the plans that ran at the start of each step, and those that ended in it while their account had no other plan. */
async function plans(client: Queryable, steps: Steps): Promise<{ ended: Values; alive: number[] }> {
  const { starts, now } = steps;
  const { rows } = await client.query<{ from: number; to: number; ended: number; plans: number }>(
    `select "from", "to", count(*) filter (where is_over) as ended, count(*) as plans from (
       select ${stepOf('s.starts_at')} as "from", ${stepOf('s.ends_at')} as "to",
         s.ends_at <= $3 and not exists (select from subscriptions r where r.account_id = s.account_id
           and r.starts_at <= s.ends_at and r.ends_at > s.ends_at) as is_over
       from subscriptions s where s.ends_at >= $2 and s.starts_at < $3 and s.account_id < ${FIRST_TEST_ACCOUNT}
     ) as s group by 1, 2`,
    [dates(starts), new Date(starts[0] ?? 0), new Date(now)],
  );
  const count = (of: (row: (typeof rows)[number]) => number) =>
    rows.reduce((total, row) => total + of(row), 0);
  return {
    ended: starts.map((_, i) => count(({ to, ended }) => (to === i ? ended : 0))),
    // A plan that starts with the step has not run before.
    alive: starts.map((_, i) => count(({ from, to, plans }) => (from < i && to >= i ? plans : 0))),
  };
}

async function queue(client: Queryable, steps: Steps, toSeries: ToSeries): Promise<ActivitySeries[]> {
  const { starts } = steps;
  const { rows } = await client.query<{ step: number; pool: string; waiting: number }>(
    `select ${stepOf('hour')} as step, pool, max(waiting) as waiting from queue_hours
     where hour >= $2 group by 1, 2 order by 2`,
    [dates(starts), new Date(starts[0] ?? 0)],
  );
  return [...Map.groupBy(rows, ({ pool }) => pool)].map(([pool, own]) => {
    const values = inSteps(steps, own, ({ waiting }) => waiting, null);
    return toSeries(pool, pool, values, highest(values));
  });
}
