import type { Queryable } from '../platform/db/pool.ts';

/** A violation of a promise, with its row. */
export interface Fault {
  promise: string;
  row: Record<string, unknown>;
}

/** Calls and their days are known from the second day of the oldest month that `finished_calls` has. */
const KNOWN_SINCE = `(select coalesce(min(to_date(right(c.relname, 7), 'YYYY_MM')), '-infinity') + 1
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'finished_calls'::regclass and c.relname ~ '_[0-9]{4}_[0-9]{2}$')`;

/** The end of the last month whose ledger lines were folded, so that they have no calls and times. */
const FOLDED_UNTIL = `(select coalesce(max(to_date(right(c.relname, 7), 'YYYY_MM')) + interval '1 month', '-infinity')
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'ledger'::regclass and obj_description(c.oid, 'pg_class') = 'folded')`;

/** Limits a query to the account that is audited, $2; null: all of them. */
const of = (accountId: string) => `($2::bigint is null or ${accountId} = $2)`;

/**
 * What holds at every moment of an installation, also after grants, refunds, erasures and folding. Each query returns the rows
 * that violate a promise. README.md explains the promises.
 */
export const BOOKS: Readonly<Record<string, string>> = {
  // Both read the calls of each claim in order, so that their time grows with the calls and not with their pairs.
  'a claim is charged once within five minutes': `
    select account_id, earlier_at, id as second, accepted_at as again_at, units_charged
    from (
      select account_id, id, accepted_at, units_charged,
        max(accepted_at) filter (where coalesce(answer, '') not like 'partial:%') over (
          partition by account_id, claim_key order by accepted_at, id rows between unbounded preceding and 1 preceding
        ) as earlier_at
      from finished_calls
      -- An erased account has calls without claims.
      where ${of('account_id')} and state = 'settled' and units_charged > 0 and claim_key <> ''
    ) as c
    where accepted_at < earlier_at + interval '300 seconds'`,
  'a call that continues a partial answer reserves at most the rest': `
    select account_id, id as second, accepted_at, units_reserved as again, rest
    from (
      select account_id, id, accepted_at, units_reserved,
        min(units_reserved - units_charged) filter (where answer like 'partial:%') over (
          partition by account_id, claim_key order by accepted_at
          -- Times have whole milliseconds.
          range between interval '299.999 seconds' preceding and current row exclude group
        ) as rest
      from finished_calls where ${of('account_id')} and state = 'settled' and claim_key <> ''
    ) as c
    where units_reserved > rest`,
  'the ledger lines of a call add up to its charge': `
    select c.account_id, c.id, c.state, c.units_charged, e.held, e.used
    from finished_calls c left join (
      select account_id, call_id, sum(units) filter (where place = 'held') as held,
        sum(units) filter (where place = 'used') as used
      from ledger_entries where ${of('account_id')} group by account_id, call_id
    ) as e on e.account_id = c.account_id and e.call_id = c.id
    where ${of('c.account_id')}
      and (coalesce(e.held, 0) <> 0 or coalesce(e.used, 0) <> c.units_charged or c.units_charged > c.units_reserved)`,
  'the ledger lines of an open call add up to its reservation': `
    select c.account_id, c.id, c.units_reserved, e.held
    from open_calls c left join (
      select account_id, call_id, sum(units) as held from ledger_entries
      where place = 'held' and at >= (select min(accepted_at) from open_calls) and ${of('account_id')} group by account_id, call_id
    ) as e on e.account_id = c.account_id and e.call_id = c.id
    where ${of('c.account_id')} and coalesce(e.held, 0) <> c.units_reserved`,
  'the usage of a day equals the sum of its calls': `
    select * from (
      select account_id, (accepted_at at time zone 'UTC')::date as day, operation, coalesce(key_id, 0) as key_id,
        count(*) as calls, sum(units_charged) as units
      from finished_calls where ${of('account_id')} group by 1, 2, 3, 4
    ) as c full join (select * from usage_days where ${of('account_id')}) as d using (account_id, day, operation, key_id)
    where (c.calls is distinct from d.calls or c.units is distinct from d.units)
      and (day >= ${KNOWN_SINCE} or c.calls is not null and day <> ${KNOWN_SINCE} - 1)`,
  // Rows from a time when the key had no cap are not kept up, so only the newest of each period counts.
  'the units that a cap counts equal those of the calls of its key': `
    select * from (
      select k.account_id, p.key_id, p.period, p.starts_at, p.units as counted,
        coalesce((
          select sum(u.units) from usage_days u where u.account_id = k.account_id and u.key_id = k.id
            -- The index starts with the day: each day is a look-up.
            and u.day = any(array(select (p.starts_at at time zone 'UTC')::date + n from generate_series(0, p.days - 1) as n))), 0)
        + coalesce((
          select sum(o.units_reserved) from open_calls o where o.account_id = k.account_id and o.key_id = k.id
            and o.accepted_at >= p.starts_at and o.accepted_at < p.starts_at + make_interval(days => p.days)), 0) as booked
      from api_keys k cross join lateral (
        select distinct on (p.period) p.*, extract(day from souk_period_end(p.period, p.starts_at) - p.starts_at)::integer as days
        from key_periods p where p.key_id = k.id order by p.period, p.starts_at desc
      ) as p
      where (k.cap_day is not null or k.cap_month is not null) and ${of('k.account_id')}
    ) as c where counted <> booked`,
  'a released call costs nothing': `
    select account_id, id, units_charged from finished_calls
    where state = 'released' and units_charged <> 0 and ${of('account_id')}`,
  // Meters count a call in the windows in which it was admitted, at any time of its end. Units that were taken back count in the
  // month; those of a month that has not begun, in the first one.
  'the meters of a subscription equal the sums of its ledger lines': `
    with lines as (
      select e.source_id, e.kind in ('revoke', 'restore') as is_reversal, -e.units as units,
        case when e.call_id is null then e.at else min(e.at) over (partition by e.source_id, e.call_id) end as at
      from ledger_entries e where e.source = 'subscription' and e.place = 'available' and ${of('e.account_id')}
    )
    select * from (
      select s.account_id, s.id, s.day_used, coalesce(sum(l.units) filter (
          where not l.is_reversal and l.at >= s.day_start and l.at < s.day_start + interval '24 hours'), 0) as day_lines,
        s.month_used, coalesce(sum(l.units) filter (
          where l.at >= s.month_start and l.at < s.month_end or l.is_reversal and l.at < s.starts_at and s.month_start = s.starts_at
        ), 0) as month_lines
      from subscriptions s left join lines l on l.source_id = s.id
      where s.month_start >= ${FOLDED_UNTIL} and ${of('s.account_id')} group by s.id
    ) as m where day_used <> day_lines or month_used <> month_lines`,
  'the units left in a pack equal the sum of its ledger lines': `
    select k.account_id, k.id, k.total_units, k.remaining_units, e.units as lines
    from packs k left join (
      select source_id, sum(units) as units from ledger_entries
      where source = 'pack' and place = 'available' and ${of('account_id')} group by source_id
    ) as e on e.source_id = k.id
    where ${of('k.account_id')} and k.remaining_units <> coalesce(e.units, 0)`,
  'no pack is ever overdrawn': `
    select * from (
      select account_id, source_id, id, sum(units) over (partition by source_id order by id) as left_over
      from ledger_entries where source = 'pack' and place = 'available' and ${of('account_id')}
    ) as r where left_over < 0`,
};

/** Milliseconds that a query may take: a ledger of a year has hundreds of millions of lines. */
export const LONGEST_QUERY_MS = 6 * 3_600_000;

interface AuditOptions {
  /** The faults of each promise that are returned. */
  most?: number | null;
  /** Default: all accounts. */
  accountId?: number | null;
  /** Default: those that always hold. */
  promises?: Readonly<Record<string, string>>;
}

/**
 * Recomputes balances, meters, charges and usage from the ledger and the calls. In a transaction of its own isolation, the tables
 * are those of one moment, even while calls are made.
 */
export async function auditBooks(
  database: Queryable,
  { most = null, accountId = null, promises = BOOKS }: AuditOptions = {},
): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const [promise, query] of Object.entries(promises)) {
    const { rows } = await database.query<Record<string, unknown>>({
      // A query that concerns all accounts has no $2.
      text: `with account as (select $2::bigint) select * from (${query}) as fault limit $1`,
      values: [most, accountId],
      // pg has this field, which its types lack.
      ...{ query_timeout: LONGEST_QUERY_MS },
    });
    faults.push(...rows.map((row) => ({ promise, row })));
  }
  return faults;
}
