-- Up Migration

-- A plan that accounts have is not changed, but superseded by a row with the same code. So subscriptions keep what
-- they were sold with.
alter table plans add column superseded_at timestamptz;
alter table plans drop constraint plans_code_key;
create unique index plans_code on plans (code) where superseded_at is null;

-- The plan or pack that a purchase grants, as it was offered when the purchase was created.
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

-- Digest of the token with which an operator has signed in. When the token changes, the session ends.
alter table web_sessions add column credential bytea;

-- Usage statistics: calls, units and tokens by operation and hour, of all processes together. Processes add to them
-- every few seconds: the ledger is exact, these are quick to read.
create table operation_hours (
  hour timestamptz not null,
  operation text not null,
  calls bigint not null default 0,
  units_sold bigint not null default 0,
  tokens_spent double precision not null default 0,
  -- Cost of the data that was found in a cache.
  tokens_saved double precision not null default 0,
  primary key (hour, operation)
);

-- The data provider's tokens by minute, for some days.
create table token_readings (
  minute timestamptz primary key,
  tokens_left double precision not null,
  tokens_per_minute double precision not null
);

-- The failure log: failures on our side or upstream, with details for the operator only, for thirty days.
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

-- Failed calls, the newest first, and by the error that their callers got.
create index calls_failed on calls (finished_at) where error is not null;
create index calls_error_id on calls ((error -> 'metadata' ->> 'errorId')) where error is not null;

create index calls_failed_id on calls (id) where error is not null;

create index orders_time on orders (created_at);

-- Imports of weekly reports, including those under way.
create table aba_imports (
  id bigint generated always as identity primary key,
  site smallint not null,
  -- Null until the file has been read, unless the request names the week.
  week date,
  state text not null check (state in ('waiting', 'reading', 'saving', 'indexing', 'done', 'failed')),
  rows_read bigint not null default 0,
  started_at timestamptz not null,
  -- The time by the database's own clock, to compute durations.
  noted_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  reason text
);
