-- Up Migration

-- What a key may do; without these it may make every call. `version` counts changes, so that a process that knows a key notices
-- that its limits have changed. A change of scopes, networks or caps increases it.
alter table api_keys
  add column name text,
  add column version integer not null default 0,
  add column scopes text[],
  add column cap_day bigint check (cap_day > 0),
  add column cap_month bigint check (cap_month > 0),
  -- In CIDR notation.
  add column networks text[],
  -- The key that created it; null: the pages or the operator.
  add column created_by bigint,
  -- When a newer key replaced it. It works until expires_at.
  add column rotated_at timestamptz;

update api_keys set rotated_at = expires_at - interval '30 minutes'
where purpose = 'customer' and expires_at is not null;

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

-- Units of a call that return to its key.
create type souk_key_return as (key_id bigint, accepted_at timestamptz, units bigint);

-- The key of each call; null: a key of the pages, or unknown.
alter table open_calls add column key_id bigint;
alter table finished_calls add column key_id bigint;

create or replace view calls as
  select account_id, id, operation, claim_key, 'reserved'::call_state as state, pool, units_reserved, 0 as units_charged,
    accepted_at, deadline_at, null::timestamptz as started_at, null::timestamptz as finished_at, 0::smallint as attempts,
    null::text as answer, null::jsonb as error, input, draws, background, polled, key_id
  from open_calls
  union all
  select account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
    accepted_at, deadline_at, started_at, finished_at, attempts, answer, error, input, null::jsonb, background, polled, key_id
  from finished_calls;

-- 0: no key is known.
alter table usage_days add column key_id bigint not null default 0;
alter table usage_days drop constraint usage_days_pkey, add primary key (day, account_id, operation, key_id);

-- The key whose calls a batch makes, and whose batches a schedule creates.
alter table batches add column key_id bigint;
alter table schedules add column key_id bigint;
