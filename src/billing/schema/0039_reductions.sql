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

-- What has reduced the price of a purchase, of which amount_cents is what is paid. null: nothing has, and that is the list price.
alter table orders
  add column list_cents bigint,
  -- In words, such as "Coupon SPRING20: 20 % off".
  add column reduction text,
  -- Months of a renewing plan that begin before this time have the reduction.
  add column reduced_until timestamptz,
  add column reduction_id bigint references price_reductions on delete set null,
  add constraint orders_reduced check (num_nulls(list_cents, reduction, reduced_until) in (0, 3) and amount_cents < list_cents),
  add constraint orders_reduction check (reduction_id is null or reduction is not null);
create index orders_reduction_uses on orders (reduction_id) where reduction_id is not null;

-- The list price of the month that was paid last; null: not read yet. And the reduction that the next month has.
alter table renewing_plans add column list_cents bigint, add column reduction text, add column reduced_until timestamptz;
