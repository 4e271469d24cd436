import type { Database, Queryable } from '../platform/db/pool.ts';
import { allRows, unixMs } from '../platform/db/rows.ts';
import type { Call } from './calls.ts';
import type { GrantKind, OffPeakWindow, Wallet } from './wallets.ts';

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

interface Period {
  from: number;
  to: number;
}

/** The calls of the account $1 on the UTC days from $2 to $3, also those that are open and have not been charged. */
const USED = `(
    -- Each day is a look-up in the index.
    select u.day, u.operation, u.key_id, u.calls, u.units
    from generate_series(0, $3::date - $2::date) as n
    join usage_days u on u.day = $2::date + n and u.account_id = $1
    union all
    select o.day, operation, coalesce(key_id, 0), 1, 0
    from open_calls cross join lateral (select (accepted_at at time zone 'UTC')::date as day) as o
    where account_id = $1 and o.day between $2::date and $3::date
  ) as used`;

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
export function dailyUse(database: Database, accountId: number, { from, to }: Period) {
  return allRows<DailyUse>(
    database,
    `select to_char(day, 'YYYY-MM-DD') as day, operation, sum(calls)::bigint as calls, sum(units)::bigint as units
     from ${USED} group by 1, 2 order by 1, 2`,
    [accountId, dayOf(from), dayOf(to - 1)],
  );
}

/** Returns the units and calls of `dailyUse`, by day and key. The fields of the key are null for calls of the pages, and of an unknown key. */
export function dailyUseByKey(database: Database, accountId: number, { from, to }: Period) {
  return allRows<
    Omit<DailyUse, 'operation'> & { keyId: number | null; keyPrefix: string | null; keyName: string | null }
  >(
    database,
    `select to_char(day, 'YYYY-MM-DD') as day, nullif(used.key_id, 0) as "keyId", k.prefix as "keyPrefix",
       k.name as "keyName", sum(calls)::bigint as calls, sum(units)::bigint as units
     from ${USED} left join api_keys k on k.id = used.key_id
     group by used.day, used.key_id, k.prefix, k.name order by used.day, used.key_id`,
    [accountId, dayOf(from), dayOf(to - 1)],
  );
}

const dayOf = (unixMs: number) => new Date(unixMs).toISOString().slice(0, 10);

/** Returns the calls and units of a period: in total, by operation and by day. */
export async function usage(database: Database, accountId: number, period: Period): Promise<Usage> {
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

/** What a call took from one plan or pack. */
export interface Draw {
  kind: 'reserve' | 'charge' | 'settle' | 'release';
  source: GrantKind;
  sourceId: number;
  wallet: Wallet;
  /** The name of a plan; null for packs. */
  planName: string | null;
  units: number;
}

/** Returns the lines of the ledger with which a call was admitted and ended, in their order. */
export async function drawsOf(
  database: Database,
  accountId: number,
  { callId, acceptedAt, finishedAt }: Pick<Call, 'callId' | 'acceptedAt' | 'finishedAt'>,
): Promise<Draw[]> {
  const { rows } = await database.query<Draw>(
    // Lines are found by their times, as in a refund: the ledger has no index by call.
    `select l.kind, l.source, l.source_id as "sourceId", coalesce(s.wallet, k.wallet) as wallet, p.name as "planName", l.units
     from ledger l
     left join subscriptions s on l.source = 'subscription' and s.id = l.source_id
     left join plans p on p.id = s.plan_id
     left join packs k on l.source = 'pack' and k.id = l.source_id
     where l.account_id = $1 and l.at = any($2) and l.call_id = $3
       and l.kind in ('reserve', 'charge', 'settle', 'release')
     order by l.id`,
    [accountId, [acceptedAt, finishedAt ?? acceptedAt].map((at) => new Date(at)), callId],
  );
  return rows;
}

/** Calls of one operation that ended with the same error. */
export interface ErrorGroup {
  kind: string;
  operation: string;
  calls: number;
  /** How many of them are calls of batches. */
  inBatches: number;
  /** Unix milliseconds. */
  lastAt: number;
  /** The last of them, and what its caller received. */
  lastCallId: string;
  message: string;
}

/** The most failed calls that are grouped, the newest first. */
export const MOST_ERRORS_READ = 10_000;

/** Groups the errors of an account since a time, the newest group first. Cancelled calls are none. */
export function errorGroups(database: Database, accountId: number, since: number) {
  return allRows<ErrorGroup>(
    database,
    `select kind, operation, count(*) as calls, count(*) filter (where background) as "inBatches",
       ${unixMs('max(finished_at)')} as "lastAt", (array_agg(id order by finished_at desc))[1] as "lastCallId",
       (array_agg(message order by finished_at desc))[1] as message
     from (
       select id, operation, background, finished_at, error ->> 'kind' as kind, error ->> 'message' as message
       from finished_calls where account_id = $1 and error is not null and finished_at >= $2
       order by finished_at desc limit $3
     ) as failed
     where kind <> 'CANCELLED'
     group by kind, operation order by "lastAt" desc`,
    [accountId, new Date(since), MOST_ERRORS_READ],
  );
}
