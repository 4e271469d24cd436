create type wallet as enum ('general', 'off_peak');
create type source_kind as enum ('subscription', 'pack');
create type ledger_kind as enum (
  'grant', 'charge', 'reserve', 'settle', 'release', 'expire',
  -- Returns the units of a settled call whose answer was lost.
  'refund',
  -- Units that a refund or a dispute of a payment takes back, and that a won dispute gives back.
  'revoke', 'restore'
);

-- A limit of null means unlimited. A plan that accounts have is not changed, but superseded by a row with the same code. So
-- subscriptions keep what they were sold with.
create table plans (
  id integer generated always as identity primary key,
  code text not null,
  name text not null,
  minute_limit integer check (minute_limit > 0),
  daily_limit bigint check (daily_limit > 0),
  monthly_limit bigint check (monthly_limit > 0),
  -- Only operators grant a plan without a price.
  price_cents integer check (price_cents >= 0),
  is_offered boolean not null default true,
  superseded_at timestamptz,
  -- Stripe renews the plan each month, and so the purchase of it.
  renews boolean not null default false
);

create unique index plans_code on plans (code) where superseded_at is null;

-- Each meter is a pair: the start of its window, and the use in that window. A meter whose window is over counts as
-- zero, so no process has to reset it.
create table subscriptions (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  wallet wallet not null,
  plan_id integer not null references plans,
  quantity integer not null default 1 check (quantity > 0),
  starts_at timestamptz not null,
  ends_at timestamptz not null check (ends_at > starts_at),
  minute_start timestamptz not null default '-infinity',
  minute_used integer not null default 0 check (minute_used >= 0),
  day_start timestamptz not null default '-infinity',
  day_used bigint not null default 0 check (day_used >= 0),
  month_start timestamptz not null default '-infinity',
  month_end timestamptz not null default '-infinity',
  month_used bigint not null default 0 check (month_used >= 0),
  -- The number of monthly windows. null: the whole months from starts_at to ends_at. A paid month of a renewing plan has one
  -- window, even if it is longer than a month or lasts until the next payment.
  months smallint check (months > 0)
) with (fillfactor = 50);

create index subscriptions_account on subscriptions (account_id);
create index subscriptions_end on subscriptions (ends_at);

create table packs (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  wallet wallet not null,
  total_units bigint not null check (total_units > 0),
  remaining_units bigint not null check (remaining_units between 0 and total_units),
  rate_limit_per_minute integer not null check (rate_limit_per_minute > 0),
  valid_from timestamptz not null,
  valid_until timestamptz not null check (valid_until > valid_from),
  -- Set for off-peak packs that are sold with their own window; null means the window of the service.
  window_start time,
  window_end time,
  window_timezone text,
  -- When the expire line was written and the remaining units were removed, at some time after valid_until.
  expired_at timestamptz,
  -- A window is complete or absent, and its zone exists: an unknown one would fail every admission of its account.
  check (num_nulls(window_start, window_end, window_timezone) in (0, 3)),
  check (window_timezone is null or timestamp '2000-01-01' at time zone window_timezone is not null)
) with (fillfactor = 50);

create index packs_account on packs (account_id);
-- Contains only packs that have not expired. No index contains remaining_units, so that drawing is cheap.
create index packs_to_expire on packs (valid_until) where expired_at is null;

-- Append-only, in a partition for each month. A line moves units between two places; ledger_entries shows both sides. Every
-- charged call writes lines, so there are no foreign keys: only the functions of src/billing/sql write them, with the account's
-- row locked. The key contains the time, because a partitioned table's key has to.
create sequence ledger_ids;
create table ledger (
  account_id bigint not null,
  id bigint not null default nextval('ledger_ids'),
  at timestamptz not null,
  kind ledger_kind not null,
  source source_kind not null,
  source_id bigint not null,
  call_id uuid,
  units bigint not null check (units >= 0),
  primary key (account_id, id, at)
) partition by range (at);

-- A refund finds the lines of a call by their time. Lines are stored in the order of their times, so the index is tiny.
create index ledger_at on ledger using brin (at) with (autosummarize = on);
-- The ledger by kind, without the lines that almost every call has.
create index ledger_seldom on ledger (account_id, kind, id) where kind not in ('charge', 'reserve', 'settle');

-- Partitions from this month up to two months from now. The maintenance job adds later ones. The default partition holds lines
-- outside of them, which a wrong clock causes.
do $$
declare
  month timestamp;
begin
  for month in
    select date_trunc('month', now() at time zone 'UTC') + make_interval(months => n) from generate_series(0, 2) as n
  loop
    execute format('create table %I partition of ledger for values from (%L) to (%L)',
      'ledger_' || to_char(month, 'YYYY_MM'), month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
  end loop;
end
$$;
create table ledger_default partition of ledger default;

-- Units that a key with a cap has reserved and been charged in a day or month (UTC), without those that were returned. Changes
-- only in transactions that hold the lock of the account.
create table key_periods (
  key_id bigint not null references api_keys (id) on delete cascade,
  period text not null check (period in ('day', 'month')),
  starts_at timestamptz not null,
  units bigint not null,
  primary key (key_id, period, starts_at)
) with (fillfactor = 70);

create index key_periods_age on key_periods (starts_at);
