-- Packs for sale.
create table pack_offers (
  code text primary key,
  name text not null,
  wallet wallet not null,
  units bigint not null check (units > 0),
  rate_limit_per_minute integer not null check (rate_limit_per_minute > 0),
  valid_days integer not null check (valid_days between 1 and 3650),
  price_cents integer not null check (price_cents >= 0),
  is_offered boolean not null default true,
  -- The window of an off-peak pack that is sold with its own hours: {start, end, timezone}. null: the window of the service.
  own_window jsonb check (own_window is null or wallet = 'off_peak')
);

-- Reductions of prices: coupons, whose code customers enter, and discounts, which apply without one. A reduction is not changed: it
-- is created and ended.
create table price_reductions (
  id bigint generated always as identity primary key,
  -- null: a discount.
  code text unique check (code ~ '^[A-Z0-9][A-Z0-9-]{2,19}$'),
  percent smallint check (percent between 1 and 100),
  amount_cents integer check (amount_cents > 0),
  -- Of the amount.
  currency text,
  -- The plan or pack; null: all.
  offer_kind text check (offer_kind in ('plan', 'pack')),
  offer_code text,
  -- The account that has a discount; null: all.
  account_id bigint references accounts,
  -- Purchases that may use a coupon; null: any number.
  max_uses integer check (max_uses > 0),
  once_per_account boolean not null default false,
  created_at timestamptz not null,
  ends_at timestamptz not null,
  check (num_nonnulls(percent, amount_cents) = 1),
  check ((amount_cents is null) = (currency is null)),
  check ((offer_kind is null) = (offer_code is null)),
  check (code is null or account_id is null),
  check (code is not null or (max_uses is null and not once_per_account))
);
create index price_reductions_end on price_reductions (ends_at);
create index price_reductions_account on price_reductions (account_id) where account_id is not null;

-- Purchases. Each one keeps the values of its offer, because offers change.
create table orders (
  id uuid primary key,
  account_id bigint not null references accounts,
  kind text not null check (kind in ('plan', 'pack')),
  offer_code text not null,
  offer_name text not null,
  wallet wallet not null,
  quantity integer not null check (quantity between 1 and 1000),
  months integer check (months between 1 and 36),
  amount_cents bigint not null check (amount_cents >= 0),
  currency text not null,
  provider text not null check (provider in ('demo', 'manual', 'stripe')),
  -- The provider's id of the payment, such as the id of a checkout session.
  provider_ref text unique,
  state text not null default 'pending' check (state in ('pending', 'granted', 'cancelled')),
  created_at timestamptz not null,
  ended_at timestamptz,
  -- The grants of this purchase.
  subscription_id bigint references subscriptions,
  pack_id bigint references packs,
  -- The plan or pack that the purchase grants, as it was offered when the purchase was created.
  plan_id integer references plans,
  pack_units bigint,
  pack_rate_limit_per_minute integer,
  pack_valid_days integer,
  pack_window jsonb,
  renews boolean not null default false,
  -- What has reduced the price, of which amount_cents is what is paid. null: nothing has, and that is the list price.
  list_cents bigint,
  -- In words, such as "Coupon SPRING20: 20 % off".
  reduction text,
  -- Months of a renewing plan that begin before this time have the reduction.
  reduced_until timestamptz,
  reduction_id bigint references price_reductions on delete set null,
  constraint orders_reduced check (num_nulls(list_cents, reduction, reduced_until) in (0, 3) and amount_cents < list_cents),
  constraint orders_reduction check (reduction_id is null or reduction is not null),
  check ((kind = 'plan') = (plan_id is not null)),
  check (num_nulls(pack_units, pack_rate_limit_per_minute, pack_valid_days) = case kind when 'pack' then 0 else 3 end)
);

create index orders_account on orders (account_id, created_at);
create index orders_pending on orders (created_at) where state = 'pending';
create index orders_time on orders (created_at);
-- The purchases that are counted and deleted; granted ones are kept for ever.
create index orders_unfinished on orders (account_id, created_at) where state <> 'granted';
-- Purchases by the time of their payment.
create index orders_granted on orders (ended_at) where state = 'granted';
create index orders_reduction_uses on orders (reduction_id) where reduction_id is not null;

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
  revision integer not null default 1,
  -- The list price of the month that was paid last; null: not read yet. And the reduction that the next month has.
  list_cents bigint,
  reduction text,
  reduced_until timestamptz
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
  -- What was paid, without taxes, and what refunds and disputes took back: a list of {at, cents}, negative if a dispute was won.
  amount_cents bigint not null,
  reversals jsonb not null default '[]',
  check (num_nonnulls(subscription_id, pack_id) = 1)
);
create index stripe_payments_intent on stripe_payments (payment_intent_id);
create index stripe_payments_plan on stripe_payments (renewing_plan_id) where renewing_plan_id is not null;

-- Packs that Souk buys for an account when few units are left, within a monthly ceiling.
create table auto_top_ups (
  account_id bigint primary key references accounts,
  pack_code text not null references pack_offers,
  -- A pack is bought when the packs and plans of its wallet have fewer units left.
  threshold_units bigint not null check (threshold_units > 0),
  ceiling_cents bigint not null check (ceiling_cents > 0),
  is_on boolean not null,
  -- Why Souk has switched it off.
  stopped_reason text,
  -- The UTC month of the two counts, as 2026-03.
  month text not null default '',
  spent_cents bigint not null default 0,
  purchases integer not null default 0,
  -- The purchase whose payment is under way.
  purchase_id uuid references orders,
  checked_at timestamptz not null,
  check (month = '' or spent_cents >= 0)
);
create index auto_top_ups_checked on auto_top_ups (checked_at) where is_on;
