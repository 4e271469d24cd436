-- Up Migration

create type wallet as enum ('general', 'off_peak');

-- A limit of null means unlimited.
create table plans (
  id integer generated always as identity primary key,
  code text not null unique,
  name text not null,
  minute_limit integer check (minute_limit > 0),
  daily_limit bigint check (daily_limit > 0),
  monthly_limit bigint check (monthly_limit > 0)
);

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
  month_used bigint not null default 0 check (month_used >= 0)
) with (fillfactor = 50);

create index subscriptions_account on subscriptions (account_id);

-- window_* are set for off-peak packs that are sold with their own window; null means the window of the service.
create table packs (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  wallet wallet not null,
  total_units bigint not null check (total_units > 0),
  remaining_units bigint not null check (remaining_units between 0 and total_units),
  rate_limit_per_minute integer not null check (rate_limit_per_minute > 0),
  valid_from timestamptz not null,
  valid_until timestamptz not null check (valid_until > valid_from),
  window_start time,
  window_end time,
  window_timezone text
) with (fillfactor = 50);

create index packs_account on packs (account_id);
