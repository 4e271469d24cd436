-- The window of a subscription in which an instant is, counted from 0.
create or replace function souk_window_number(s subscriptions, at timestamptz) returns integer language sql stable as $$
  select least(souk_months_between(s.starts_at, greatest(at, s.starts_at)), coalesce(s.months, 1200) - 1)
$$;

-- Units that were used or taken back in [from_at, to_at), as unit_days has them: sums of the ledger. A call counts on the
-- day of its line, and in the window in which it was accepted.
create or replace function souk_unit_moves(from_at timestamptz, to_at timestamptz)
returns table (
  source source_kind, source_id bigint, period integer, day date, kind text, operation text, key_id bigint, account_id bigint,
  units bigint
)
language sql stable as $$
  with moves as (
    select l.account_id, l.at, 'used' as kind, l.source, l.source_id, l.units, c.operation, c.key_id, c.accepted_at
    from ledger l
    -- A call ends days after its acceptance at the latest, so that few partitions are read.
    left join finished_calls c on c.account_id = l.account_id and c.id = l.call_id
      and c.id >= souk_first_id(from_at - interval '40 days')
    where l.at >= from_at and l.at < to_at and l.kind in ('charge', 'settle')
    union all
    select l.account_id, l.at, 'used', l.source, l.source_id, -l.units, c.operation, c.key_id, c.accepted_at
    from ledger l left join lateral souk_finished_call(l.account_id, l.call_id) as c on true
    where l.at >= from_at and l.at < to_at and l.kind = 'refund'
    union all
    select l.account_id, l.at, 'revoked', l.source, l.source_id,
      case l.kind when 'restore' then -l.units else l.units end, null, null, null
    from ledger l where l.at >= from_at and l.at < to_at and l.kind in ('revoke', 'restore')
  )
  select m.source, m.source_id,
    case when s.id is null then 0 else souk_window_number(s, coalesce(m.accepted_at, m.at)) end as period,
    (m.at at time zone 'UTC')::date as day, m.kind, coalesce(m.operation, ''), coalesce(m.key_id, 0), min(m.account_id),
    sum(m.units)::bigint
  from moves m
  -- Test accounts have numbers from here on.
  left join subscriptions s on m.source = 'subscription' and s.id = m.source_id
  where m.account_id < 1000000000000
  group by 1, 2, 3, 4, 5, 6, 7
$$;

-- What was paid for packs and subscriptions. Each payment of a renewing plan paid for a month of its own. Amounts are in cents.
create or replace view paid_grants as
  select 'pack'::source_kind as source, o.pack_id as source_id, o.account_id, o.offer_code as code, o.offer_name as name,
    o.currency, o.amount_cents, o.ended_at as paid_at, 1 as windows, k.total_units as units, k.valid_from as starts_at,
    k.valid_until as ends_at, coalesce(p.reversals, '[]') as reversals
  from orders o join packs k on k.id = o.pack_id left join stripe_payments p on p.pack_id = o.pack_id
  where o.state = 'granted' and o.amount_cents > 0
  union all
  select 'subscription', s.id, o.account_id, o.offer_code, o.offer_name, o.currency, o.amount_cents, o.ended_at, o.months,
    l.monthly_limit * s.quantity, s.starts_at, s.ends_at, coalesce(p.reversals, '[]')
  from orders o join subscriptions s on s.id = o.subscription_id join plans l on l.id = s.plan_id
  left join stripe_payments p on p.subscription_id = s.id
  where o.state = 'granted' and o.amount_cents > 0 and p.renewing_plan_id is null
  union all
  select 'subscription', s.id, p.account_id, l.code, l.name, o.currency, p.amount_cents, p.at, 1,
    l.monthly_limit * s.quantity, s.starts_at, s.ends_at, p.reversals
  from stripe_payments p join orders o on o.id = p.purchase_id join subscriptions s on s.id = p.subscription_id
  join plans l on l.id = s.plan_id
  where p.renewing_plan_id is not null and p.amount_cents > 0;
