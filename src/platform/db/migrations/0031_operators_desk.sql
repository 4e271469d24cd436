-- Up Migration

-- What was sold stays as it was sold: a plan that somebody has is not changed, but superseded by a row of the same code.
alter table plans add column superseded_at timestamptz;
alter table plans drop constraint plans_code_key;
create unique index plans_code on plans (code) where superseded_at is null;

-- What an order will bring, from the moment it is made.
alter table orders
  add column plan_id integer references plans,
  add column pack_units bigint,
  add column pack_rate_limit_per_minute integer,
  add column pack_valid_days integer;
update orders o set plan_id = p.id from plans p where o.kind = 'plan' and p.code = o.offer_code;
update orders o set pack_units = p.units, pack_rate_limit_per_minute = p.rate_limit_per_minute,
    pack_valid_days = p.valid_days
  from pack_offers p where o.kind = 'pack' and p.code = o.offer_code;
alter table orders
  add check ((kind = 'plan') = (plan_id is not null)),
  add check (num_nulls(pack_units, pack_rate_limit_per_minute, pack_valid_days) = case kind when 'pack' then 0 else 3 end);

-- Digest of the token an operator has signed in with: where that is changed, the session is over.
alter table web_sessions add column credential bytea;

-- What each operation has brought and cost, by the hour, summed over all processes. Processes add to it every few seconds:
-- the ledger is exact, this is quick to read.
create table operation_hours (
  hour timestamptz not null,
  operation text not null,
  calls bigint not null default 0,
  units_sold bigint not null default 0,
  tokens_spent double precision not null default 0,
  -- What it had cost to fetch what was found in a cache.
  tokens_saved double precision not null default 0,
  primary key (hour, operation)
);

-- The data provider's tokens, minute by minute, for some days.
create table token_readings (
  minute timestamptz primary key,
  tokens_left double precision not null,
  tokens_per_minute double precision not null
);

-- What went wrong on our side or upstream, with what only the operator may know; for thirty days.
create table failures (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  code text not null,
  -- The route or the operation.
  place text not null,
  error_id text,
  request_id text,
  call_id uuid,
  account_id bigint,
  reason text not null
);
create index failures_at on failures (at);
create index failures_error_id on failures (error_id) where error_id is not null;
create index failures_request on failures (request_id) where request_id is not null;
create index failures_call on failures (call_id) where call_id is not null;

-- Calls that failed, the newest first, and by what their callers were told.
create index calls_failed on calls (finished_at) where error is not null;
create index calls_error_id on calls ((error -> 'metadata' ->> 'errorId')) where error is not null;

create index calls_failed_id on calls (id) where error is not null;

create index orders_time on orders (created_at);

-- Imports of weekly reports, those under way included.
create table aba_imports (
  id bigint generated always as identity primary key,
  site smallint not null,
  -- Known once the file was read, if it was not told before.
  week date,
  state text not null check (state in ('waiting', 'reading', 'saving', 'indexing', 'done', 'failed')),
  rows_read bigint not null default 0,
  started_at timestamptz not null,
  -- The same by the database's own clock, so that what it lasted can be told.
  noted_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  reason text
);
