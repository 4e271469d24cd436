import { expect } from 'vitest';
import type { Database } from '../../src/platform/db/pool.ts';

/** Balances of an account, by name, without zeros. */
export type Balances = Record<string, number>;

async function balances(database: Database, text: string, accountId: number, now: number): Promise<Balances> {
  const { rows } = await database.query<{ name: string; units: number }>(text, [accountId, new Date(now)]);
  return Object.fromEntries(rows.map(({ name, units }) => [name, Number(units)]));
}

/** Returns the sums that the service stores in addition to the ledger: meters, packs, calls and usage by day. */
export function keptBalances(database: Database, accountId: number, now: number): Promise<Balances> {
  return balances(
    database,
    `select * from (
       select 'pack ' || id as name, remaining_units as units from packs where account_id = $1
       union all
       select 'day of ' || subscription_id, day_used from souk_subscription_meters($1, $2)
       union all
       select 'month of ' || subscription_id, month_used from souk_subscription_meters($1, $2)
       union all
       select 'held by ' || id, units_reserved from calls where account_id = $1 and state = 'reserved'
       union all
       select 'charged to ' || id, units_charged from calls where account_id = $1
       union all
       select 'used on ' || day, sum(units) from usage_days where account_id = $1 group by day
     ) as kept where units <> 0`,
    accountId,
    now,
  );
}

/** Computes the same sums from ledger lines. Released units count in the day and month in which they were drawn. */
export function balancesFromLedger(database: Database, accountId: number, now: number): Promise<Balances> {
  return balances(
    database,
    `with drawn as (
       select e.*, case when e.call_id is null then e.at else min(e.at) over (partition by e.call_id) end as drawn_at
       from ledger_entries e where e.account_id = $1
     )
     select * from (
       select 'pack ' || source_id as name, sum(units) as units
       from drawn where source = 'pack' and place = 'available' group by source_id
       union all
       select 'day of ' || d.source_id, -sum(d.units) from drawn d
       join souk_subscription_meters($1, $2) m on m.subscription_id = d.source_id
       where d.source = 'subscription' and place = 'available' and d.drawn_at >= m.day_end - interval '24 hours'
         -- Units that a refund takes back count in the month only.
         and d.kind not in ('revoke', 'restore')
       group by d.source_id
       union all
       select 'month of ' || d.source_id, -sum(d.units) from drawn d
       join subscriptions s on s.id = d.source_id and s.ends_at > $2
       cross join lateral souk_month(s, $2) as m
       where d.source = 'subscription' and place = 'available' and d.drawn_at >= m.month_start
       group by d.source_id
       union all
       select 'held by ' || call_id, sum(units) from drawn where place = 'held' group by call_id
       union all
       select 'charged to ' || call_id, sum(units) from drawn where place = 'used' group by call_id
       union all
       select 'used on ' || (drawn_at at time zone 'UTC')::date, sum(units) from drawn where place = 'used' group by 1
       union all
       select 'both sides', sum(units) from drawn
     ) as projected where units <> 0`,
    accountId,
    now,
  );
}

/** Fails unless the stored balances of an account are those that follow from its ledger. */
export async function expectBalancesOfLedger(
  { database, clock }: { database: Database; clock: { now(): number } },
  accountId: number,
): Promise<void> {
  const now = clock.now();
  expect(await keptBalances(database, accountId, now)).toEqual(
    await balancesFromLedger(database, accountId, now),
  );
}
