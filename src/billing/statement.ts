import type { Database, Queryable } from '../platform/db/pool.ts';
import { allRows, unixMs } from '../platform/db/rows.ts';
import type { OffPeakWindow, Wallet } from './wallets.ts';

export interface Usage {
  calls: number;
  units: number;
  byOperation: { operation: string; calls: number; units: number }[];
  /** UTC days as YYYY-MM-DD, without days that have no call. */
  byDay: { day: string; calls: number; units: number }[];
}

export interface WalletBalances {
  subscriptions: {
    id: number;
    wallet: Wallet;
    planName: string;
    quantity: number;
    endsAt: number;
    dailyLimit: number | null;
    dayUsed: number;
    monthlyLimit: number | null;
    monthUsed: number;
    monthEnd: number;
  }[];
  /** Valid packs, and packs that have ended or not started, by the earliest end. */
  packs: {
    id: number;
    wallet: Wallet;
    totalUnits: number;
    remainingUnits: number;
    rateLimitPerMinute: number;
    validFrom: number;
    validUntil: number;
    valid: boolean;
    /** The window of a pack with hours of its own. */
    window: OffPeakWindow | null;
  }[];
}

/** Calls and units of an operation on a UTC day, YYYY-MM-DD. */
export interface DailyUse {
  day: string;
  operation: string;
  calls: number;
  units: number;
}

/**
 * Returns the admitted calls of the UTC days that [from, to) touches, by day and operation, with their charges. A call
 * that is still open has not been charged.
 */
export function dailyUse(database: Database, accountId: number, period: { from: number; to: number }) {
  return allRows<DailyUse>(
    database,
    `select to_char(day, 'YYYY-MM-DD') as day, operation, sum(calls)::bigint as calls, sum(units)::bigint as units
     from (
       -- Each day is a look-up in the index.
       select u.day, u.operation, u.calls, u.units
       from generate_series(0, $3::date - $2::date) as n
       join usage_days u on u.day = $2::date + n and u.account_id = $1
       union all
       select o.day, operation, 1, 0
       from open_calls cross join lateral (select (accepted_at at time zone 'UTC')::date as day) as o
       where account_id = $1 and o.day between $2::date and $3::date
     ) as used
     group by 1, 2 order by 1, 2`,
    [accountId, dayOf(period.from), dayOf(period.to - 1)],
  );
}

/** Calls and units of a key on a UTC day. The fields of the key are null for calls of the pages, and of an unknown key. */
interface DailyUseOfKey {
  day: string;
  keyId: number | null;
  keyPrefix: string | null;
  keyName: string | null;
  calls: number;
  units: number;
}

/** Returns the units and calls of `dailyUse`, by day and key. */
export function dailyUseByKey(database: Database, accountId: number, period: { from: number; to: number }) {
  return allRows<DailyUseOfKey>(
    database,
    `select to_char(day, 'YYYY-MM-DD') as day, nullif(used.key_id, 0) as "keyId", k.prefix as "keyPrefix",
       k.name as "keyName", sum(calls)::bigint as calls, sum(units)::bigint as units
     from (
       select u.day, u.key_id, u.calls, u.units
       from generate_series(0, $3::date - $2::date) as n
       join usage_days u on u.day = $2::date + n and u.account_id = $1
       union all
       select o.day, coalesce(key_id, 0), 1, 0
       from open_calls cross join lateral (select (accepted_at at time zone 'UTC')::date as day) as o
       where account_id = $1 and o.day between $2::date and $3::date
     ) as used
     left join api_keys k on k.id = used.key_id
     group by used.day, used.key_id, k.prefix, k.name order by used.day, used.key_id`,
    [accountId, dayOf(period.from), dayOf(period.to - 1)],
  );
}

const dayOf = (unixMs: number) => new Date(unixMs).toISOString().slice(0, 10);

/** Returns the calls and units of a period: in total, by operation and by day. */
export async function usage(
  database: Database,
  accountId: number,
  period: { from: number; to: number },
): Promise<Usage> {
  const rows = await dailyUse(database, accountId, period);
  const total = (some: readonly { calls: number; units: number }[]) => ({
    calls: some.reduce((sum, { calls }) => sum + calls, 0),
    units: some.reduce((sum, { units }) => sum + units, 0),
  });
  const operations = [...new Set(rows.map(({ operation }) => operation))].sort();
  const days = [...new Set(rows.map(({ day }) => day))];
  return {
    ...total(rows),
    byOperation: operations.map((operation) => ({
      operation,
      ...total(rows.filter((row) => row.operation === operation)),
    })),
    byDay: days.map((day) => ({ day, ...total(rows.filter((row) => row.day === day)) })),
  };
}

/** Returns the subscriptions and packs of an account, with what they have left. */
export async function walletBalances(
  database: Database,
  accountId: number,
  now: number,
): Promise<WalletBalances> {
  const at = new Date(now);
  const [subscriptions, packs] = await Promise.all([
    database.query<WalletBalances['subscriptions'][number]>(
      `select subscription_id as id, wallet, plan_name as "planName", quantity, ${unixMs('ends_at')} as "endsAt",
         daily_limit as "dailyLimit", day_used as "dayUsed", monthly_limit as "monthlyLimit", month_used as "monthUsed",
         ${unixMs('month_end')} as "monthEnd"
       from souk_subscription_meters($1, $2) order by wallet, subscription_id`,
      [accountId, at],
    ),
    database.query<WalletBalances['packs'][number]>(
      `select id, wallet, total_units as "totalUnits", remaining_units as "remainingUnits",
         rate_limit_per_minute as "rateLimitPerMinute", ${unixMs('valid_from')} as "validFrom",
         ${unixMs('valid_until')} as "validUntil", valid_from <= $2 and valid_until > $2 as valid,
         case when window_start is not null then json_build_object('start', to_char(window_start, 'HH24:MI'),
           'end', to_char(window_end, 'HH24:MI'), 'timezone', window_timezone) end as window
       from packs where account_id = $1 order by valid_until, id`,
      [accountId, at],
    ),
  ]);
  return { subscriptions: subscriptions.rows, packs: packs.rows };
}

/** Returns which of some accounts have a plan, or a pack with units, that can be used at a time. */
export async function accountsWithUnits(
  database: Queryable,
  accountIds: readonly number[],
  now: number,
): Promise<ReadonlySet<number>> {
  const { rows } = await database.query<{ id: number }>(
    `select id from unnest($1::bigint[]) as a(id)
     where exists (select from subscriptions s where s.account_id = a.id and s.starts_at <= $2 and s.ends_at > $2)
       or exists (select from packs p where p.account_id = a.id and p.remaining_units > 0 and p.valid_from <= $2 and p.valid_until > $2)`,
    [accountIds, new Date(now)],
  );
  return new Set(rows.map(({ id }) => id));
}
