-- Up Migration

-- Units that a refund or a dispute of a payment takes back, and that a won dispute gives back.
alter type ledger_kind add value 'revoke';
alter type ledger_kind add value 'restore';

-- Stripe renews the plan each month, and so the purchase of it.
alter table plans add column renews boolean not null default false;
alter table orders add column renews boolean not null default false;

-- The number of monthly windows. null: the whole months from starts_at to ends_at. A paid month of a renewing plan has one
-- window, also if it is longer than a month or lasts until the next payment.
alter table subscriptions add column months smallint check (months > 0);

create table stripe_customers (
  account_id bigint primary key references accounts,
  customer_id text not null unique
);

-- Plans that Stripe renews, by the id of Stripe's subscription. The state follows from Stripe's objects and the time.
create table renewing_plans (
  id text primary key,
  account_id bigint not null references accounts,
  purchase_id uuid not null references orders,
  wallet wallet not null,
  state text not null check (state in ('active', 'past_due', 'cancelling', 'ended')),
  plan_id integer not null references plans,
  -- The plan of the next month, if a change is planned.
  next_plan_id integer references plans,
  quantity integer not null check (quantity > 0),
  -- The price of the next month, in cents.
  amount_cents bigint not null,
  -- The month that was paid last.
  period_start timestamptz not null,
  period_end timestamptz not null,
  grace_until timestamptz,
  -- When Stripe was last asked about the plan.
  seen_at timestamptz not null,
  -- Counts changes. A process that has read older objects from Stripe reads them again.
  revision integer not null default 1
);
create index renewing_plans_account on renewing_plans (account_id);
create index renewing_plans_running on renewing_plans (seen_at) where state <> 'ended';

-- What each payment through Stripe has granted, once: a row for each paid invoice of a renewing plan, and for each payment of
-- a purchase.
create table stripe_payments (
  -- The id of the invoice, or of the payment intent of a purchase.
  id text primary key,
  payment_intent_id text,
  account_id bigint not null references accounts,
  purchase_id uuid not null references orders,
  renewing_plan_id text references renewing_plans,
  subscription_id bigint references subscriptions,
  pack_id bigint references packs,
  -- The end of the subscription when it was granted.
  ends_at timestamptz,
  -- What refunds and disputes have reversed, from 0 to 1, and the units that they took back.
  reversed_share double precision not null default 0 check (reversed_share between 0 and 1),
  units_revoked bigint not null default 0 check (units_revoked >= 0),
  at timestamptz not null,
  check (num_nonnulls(subscription_id, pack_id) = 1)
);
create index stripe_payments_intent on stripe_payments (payment_intent_id);
create index stripe_payments_plan on stripe_payments (renewing_plan_id) where renewing_plan_id is not null;
