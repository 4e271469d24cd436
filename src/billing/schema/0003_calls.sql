create type call_state as enum ('reserved', 'settled', 'released');

-- Units that one call draws from one source. calls is the number to add to the source's minute.
create type souk_draw as (
  account_id bigint,
  call_id uuid,
  kind ledger_kind,
  source source_kind,
  source_id bigint,
  units bigint,
  calls integer,
  minute_start timestamptz,
  day_start timestamptz,
  month_start timestamptz,
  month_end timestamptz
);

-- Every charged call writes to these tables, so they have no foreign keys: only the functions of src/billing/sql write to them,
-- with the account's row locked.

-- Calls that have not ended. Admission inserts a row, the end of the call deletes it, so the table is as large as the present load.
create table open_calls (
  account_id bigint not null,
  id uuid not null,
  operation text not null,
  -- Identifies a call: a hash of operation and canonical input, with the account (see souk_claim_key).
  claim_key bytea not null,
  pool text not null,
  units_reserved integer not null check (units_reserved >= 0),
  accepted_at timestamptz not null,
  deadline_at timestamptz not null,
  -- The canonical input: a lost job is created again from it.
  input jsonb,
  -- In drawing order.
  draws souk_draw[] not null default '{}',
  -- True for a call of a batch: no request waits for it, so it is queued behind all others, and lists of jobs leave it out.
  background boolean not null default false,
  -- True for a call whose caller has its job and may fetch the result later.
  polled boolean not null default false,
  -- The key of the call; null: a key of the pages, or unknown.
  key_id bigint,
  -- What the account has paid for the partial answer that a call continues, so that its charge does not depend on today's prices.
  units_paid integer not null default 0,
  primary key (account_id, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

create index open_calls_claim on open_calls (claim_key);
-- Pages of open calls continue after the last deadline and id of the page before.
create index open_calls_deadline on open_calls (deadline_at, id);

-- Calls that were settled, for the five minutes in which an identical call joins them. Older rows are deleted every minute by a
-- scan, because the table is small. An index by age would cost every call more.
create table call_claims (
  claim_key bytea primary key,
  call_id uuid not null,
  accepted_at timestamptz not null,
  answer text,
  background boolean not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Calls that have ended, in a partition for each month of their ids, which are UUIDs of version 7. A row is inserted once.
create table finished_calls (
  account_id bigint not null,
  id uuid not null,
  operation text not null,
  claim_key bytea not null,
  -- Because of the check, the planner leaves out this table if a query reads only open calls.
  state call_state not null check (state <> 'reserved'),
  pool text not null,
  units_reserved integer not null check (units_reserved >= 0),
  units_charged integer not null check (units_charged between 0 and units_reserved),
  accepted_at timestamptz not null,
  deadline_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  attempts smallint not null,
  -- Where the answer is stored.
  answer text,
  -- {code, metadata} of a failed call.
  error jsonb,
  input jsonb,
  background boolean not null,
  polled boolean not null default false,
  key_id bigint,
  -- When the job of a call first asked the source of its data, and when the last answer arrived; null if it asked nothing. With
  -- them a customer sees where the time of a call went. A call that is answered from the cache has neither.
  asked_at timestamptz,
  answered_at timestamptz,
  -- What the account had paid for the partial answer that the call continued; null: it continued none.
  units_paid integer,
  primary key (account_id, id)
) partition by range (id);

-- For the operator: failed calls, the newest first, and by the error that their callers got.
create index finished_calls_failed on finished_calls (finished_at) where error is not null;
create index finished_calls_error_id on finished_calls ((error -> 'metadata' ->> 'errorId')) where error is not null;
create index finished_calls_failed_id on finished_calls (id) where error is not null;
-- For the errors of an account.
create index finished_calls_errors on finished_calls (account_id, finished_at) where error is not null;

-- The lowest UUID of version 7 of an instant. UUIDs of earlier instants are lower.
create function souk_first_id(at timestamptz) returns uuid language sql immutable as $$
  select rpad(lpad(to_hex(floor(extract(epoch from at at time zone 'UTC') * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- Partitions from the month of yesterday, whose calls may end today, up to two months from now. The maintenance job adds later
-- ones. The default partition holds calls outside of them, which a wrong clock causes.
do $$
declare
  month timestamp;
begin
  for month in
    select generate_series(
      date_trunc('month', now() at time zone 'UTC' - interval '1 day'),
      date_trunc('month', now() at time zone 'UTC') + interval '2 months', interval '1 month')
  loop
    execute format('create table %I partition of finished_calls for values from (%L) to (%L)',
      'finished_calls_' || to_char(month, 'YYYY_MM'), souk_first_id(month at time zone 'UTC'),
      souk_first_id((month + interval '1 month') at time zone 'UTC'));
  end loop;
end
$$;
create table finished_calls_default partition of finished_calls default;

-- Every call, open or finished, as one table to read.
create view calls as
  select account_id, id, operation, claim_key, 'reserved'::call_state as state, pool, units_reserved, 0 as units_charged,
    accepted_at, deadline_at, null::timestamptz as started_at, null::timestamptz as finished_at, 0::smallint as attempts,
    null::text as answer, null::jsonb as error, input, draws, background, polled, key_id, units_paid,
    null::timestamptz as asked_at, null::timestamptz as answered_at
  from open_calls
  union all
  select account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
    accepted_at, deadline_at, started_at, finished_at, attempts, answer, error, input, null::souk_draw[], background, polled, key_id,
    coalesce(units_paid, 0), asked_at, answered_at
  from finished_calls;

-- Finished calls and their charges by the UTC day on which they were accepted. The transaction that ends a call adds to it. Ending
-- a call changes rows of the present day only. With the day first, they share a few pages of the index, however many days it
-- holds, and old days are deleted without reading the table.
create table usage_days (
  account_id bigint not null,
  day date not null,
  operation text not null,
  calls bigint not null,
  units bigint not null,
  -- 0: no key is known.
  key_id bigint not null default 0,
  primary key (day, account_id, operation, key_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
