import type { Database } from '../../../src/platform/db/pool.ts';

/** A violation of a rule, with its row. */
export interface Fault {
  promise: string;
  row: Record<string, unknown>;
}

/**
 * The units of each source by call, with the time of the reservation: meters count a call in the windows in which it was
 * admitted, at any time of its end.
 */
const TAKEN = `
  taken as (
    select source_id, call_id, min(at) as at, sum(units) as units
    from ledger_entries where source = 'subscription' and place in ('held', 'used')
    group by source_id, call_id
  ),
  running as (
    select e.account_id, e.source_id, e.id, t.at,
      sum(e.units) over (partition by e.source_id, date_trunc('day', t.at, 'UTC') order by e.id) as day_units,
      sum(e.units) over (partition by e.source_id order by e.id) as all_units
    from ledger_entries e join taken t on t.source_id = e.source_id and t.call_id = e.call_id
    where e.source = 'subscription' and e.place in ('held', 'used')
  )`;

/** Each query returns the rows that violate a rule. */
const AUDITS: Record<string, string> = {
  'every call ends': `
    select account_id, id, operation, pool, accepted_at, deadline_at from calls where state = 'reserved'`,
  'a claim is charged once within five minutes': `
    select a.account_id, a.id as first, b.id as second, a.accepted_at, b.accepted_at as again_at, a.units_charged
    from calls a join calls b on b.claim_key = a.claim_key and (b.accepted_at, b.id) > (a.accepted_at, a.id)
    where a.state = 'settled' and b.state = 'settled' and b.accepted_at < a.accepted_at + interval '300 seconds'
      and a.units_charged > 0 and b.units_charged > 0 and coalesce(a.answer, '') not like 'partial:%'
      -- An erased account has calls without claims.
      and a.claim_key <> ''`,
  'a call that continues a partial answer reserves at most the rest': `
    select a.account_id, a.id as first, b.id as second, a.units_reserved, a.units_charged, b.units_reserved as again
    from calls a join calls b on b.claim_key = a.claim_key and (b.accepted_at, b.id) > (a.accepted_at, a.id)
    where a.state = 'settled' and b.state = 'settled' and b.accepted_at < a.accepted_at + interval '300 seconds'
      and a.answer like 'partial:%' and b.units_reserved > a.units_reserved - a.units_charged`,
  'the ledger lines of a call add up to its charge': `
    select c.account_id, c.id, c.state, c.units_charged, e.held, e.used
    from calls c left join (
      select account_id, call_id, sum(units) filter (where place = 'held') as held,
        sum(units) filter (where place = 'used') as used
      from ledger_entries group by account_id, call_id
    ) as e on e.account_id = c.account_id and e.call_id = c.id
    where c.state <> 'reserved'
      and (coalesce(e.held, 0) <> 0 or coalesce(e.used, 0) <> c.units_charged or c.units_charged > c.units_reserved)`,
  'the usage of a day equals the sum of its calls': `
    select * from (
      select account_id, (accepted_at at time zone 'UTC')::date as day, operation, coalesce(key_id, 0) as key_id,
        count(*) as calls, sum(units_charged) as units
      from finished_calls group by 1, 2, 3, 4
    ) as c full join usage_days d using (account_id, day, operation, key_id)
    where c.calls is distinct from d.calls or c.units is distinct from d.units`,
  'a released call costs nothing': `
    select account_id, id, units_charged from calls where state = 'released' and units_charged <> 0`,
  'the meters of a subscription equal the sums of its ledger lines': `
    with ${TAKEN}
    select s.account_id, s.id, s.day_used, d.units as day_entries, s.month_used, m.units as month_entries
    from subscriptions s
    cross join lateral (
      select coalesce(sum(units), 0) as units from taken
      where source_id = s.id and at >= s.day_start and at < s.day_start + interval '24 hours') as d
    cross join lateral (
      select coalesce(sum(units), 0) as units from taken
      where source_id = s.id and at >= s.month_start and at < s.month_end) as m
    where s.day_used <> d.units or s.month_used <> m.units`,
  'the units left in a pack equal the sum of its ledger lines': `
    select k.account_id, k.id, k.total_units, k.remaining_units, e.units as entries
    from packs k cross join lateral (
      select coalesce(sum(units), 0) as units from ledger_entries
      where source = 'pack' and source_id = k.id and place = 'available') as e
    where k.remaining_units <> e.units`,
  'no pack is ever overdrawn': `
    select * from (
      select account_id, source_id, id, sum(units) over (partition by source_id order by id) as left_over
      from ledger_entries where source = 'pack' and place = 'available'
    ) as r where left_over < 0`,
  'no daily or monthly limit of a subscription is ever exceeded': `
    with ${TAKEN}
    select r.*, p.daily_limit * s.quantity as daily_limit, p.monthly_limit * s.quantity as monthly_limit
    from running r join subscriptions s on s.id = r.source_id join plans p on p.id = s.plan_id
    where r.day_units > p.daily_limit * s.quantity or r.all_units > p.monthly_limit * s.quantity`,
  'no minute limit of a subscription is ever exceeded': `
    select l.account_id, l.source_id, date_trunc('minute', l.at) as minute, count(distinct l.call_id) as calls,
      p.minute_limit * s.quantity as minute_limit
    from ledger l join subscriptions s on s.id = l.source_id join plans p on p.id = s.plan_id
    where l.source = 'subscription' and l.kind in ('reserve', 'charge')
    group by l.account_id, l.source_id, date_trunc('minute', l.at), p.minute_limit, s.quantity
    having count(distinct l.call_id) > p.minute_limit * s.quantity`,
  'no minute limit of packs is ever exceeded': `
    select l.account_id, date_trunc('minute', l.at) as minute, count(distinct l.call_id) as calls, k.most
    from ledger l join (
      select account_id, max(rate_limit_per_minute) as most from packs group by account_id
    ) as k on k.account_id = l.account_id
    where l.source = 'pack' and l.kind in ('reserve', 'charge')
    group by l.account_id, date_trunc('minute', l.at), k.most
    having count(distinct l.call_id) > k.most`,
};

/** Recomputes everything from the ledger. */
export async function auditLedger(database: Pick<Database, 'query'>): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const [promise, query] of Object.entries(AUDITS)) {
    const { rows } = await database.query<Record<string, unknown>>(query);
    faults.push(...rows.map((row) => ({ promise, row })));
  }
  return faults;
}
