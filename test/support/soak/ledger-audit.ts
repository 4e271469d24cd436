import { auditBooks, BOOKS, type Fault } from '../../../src/billing/books.ts';
import type { Queryable } from '../../../src/platform/db/pool.ts';

export type { Fault };

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

/** What holds at the end of a run within one month, in which no plan changed: no call is open, and no limit was ever exceeded. */
const END_OF_RUN: Record<string, string> = {
  'every call ends': `
    select account_id, id, operation, pool, accepted_at, deadline_at from calls where state = 'reserved'`,
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
export function auditLedger(database: Queryable): Promise<Fault[]> {
  return auditBooks(database, { promises: { ...BOOKS, ...END_OF_RUN } });
}
