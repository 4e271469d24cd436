-- Units by UTC day, source, operation and key: sums of the ledger, which outlive its lines. Workers add to them a few minutes
-- later. Test accounts have none.
create table unit_days (
  source source_kind not null,
  source_id bigint not null,
  -- The window of a subscription in which the call was accepted, counted from 0. 0 for a pack.
  period integer not null,
  day date not null,
  -- used: charged, less what was refunded to the wallet. revoked: less what was restored.
  kind text not null check (kind in ('used', 'revoked')),
  -- '': the line has no call, or the call is no longer stored.
  operation text not null,
  -- 0: no key is known.
  key_id bigint not null,
  account_id bigint not null,
  units bigint not null,
  primary key (source, source_id, period, day, kind, operation, key_id)
);
create index unit_days_day on unit_days (day);

-- How far the ledger is summed. Lines before summed_until are in unit_days. Those before next_until can be added once all
-- transactions before next_xid have ended, because then no further line of that time can appear.
create table unit_sums (
  is_only boolean primary key default true check (is_only),
  summed_until timestamptz not null,
  next_until timestamptz,
  next_xid xid8,
  check ((next_until is null) = (next_xid is null))
);

-- Tokens by UTC day, account and operation, in thousandths. Processes add to them every few seconds.
create table token_days (
  day date not null,
  account_id bigint not null,
  operation text not null,
  -- Calls that were charged, and calls that joined another one.
  calls bigint not null default 0,
  joined bigint not null default 0,
  spent bigint not null default 0,
  -- The cost of data that was found in a cache, or that another call was fetching.
  cached bigint not null default 0,
  merged bigint not null default 0,
  primary key (day, account_id, operation)
);

-- What was paid, without taxes, and what refunds and disputes took back: a list of {at, cents}, negative if a dispute was won.
alter table stripe_payments add column amount_cents bigint, add column reversals jsonb not null default '[]';
update stripe_payments p set amount_cents = case
  when p.renewing_plan_id is null or p.at = o.ended_at then o.amount_cents
  else (select r.amount_cents from renewing_plans r where r.id = p.renewing_plan_id) end
from orders o where o.id = p.purchase_id;
update stripe_payments set reversals =
  jsonb_build_array(jsonb_build_object('at', now(), 'cents', round(amount_cents * reversed_share)))
where reversed_share > 0;
alter table stripe_payments alter column amount_cents set not null;
