-- Up Migration

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
  -- souk_draw[] as JSON, in drawing order.
  draws jsonb,
  -- True for a call of a batch.
  background boolean not null default false,
  primary key (account_id, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

create index open_calls_claim on open_calls (claim_key);
create index open_calls_deadline on open_calls (deadline_at);

-- Calls that were settled, for the five minutes in which an identical call joins them. Older rows are deleted every minute.
create table call_claims (
  claim_key bytea primary key,
  call_id uuid not null,
  accepted_at timestamptz not null,
  answer text,
  background boolean not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

create index call_claims_accepted on call_claims (accepted_at);

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
  answer text,
  error jsonb,
  input jsonb,
  background boolean not null,
  primary key (account_id, id)
) partition by range (id);

-- For the operator: failed calls, the newest first, and by the error that their callers got.
create index finished_calls_failed on finished_calls (finished_at) where error is not null;
create index finished_calls_error_id on finished_calls ((error -> 'metadata' ->> 'errorId')) where error is not null;
create index finished_calls_failed_id on finished_calls (id) where error is not null;

-- The lowest UUID of version 7 of an instant. UUIDs of earlier instants are lower.
create function souk_first_id(at timestamptz) returns uuid language sql immutable as $$
  select rpad(lpad(to_hex(floor(extract(epoch from at at time zone 'UTC') * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- Partitions from the first call up to two months from now. The maintenance job adds later ones. The default partition holds
-- calls outside of them, which a wrong clock causes.
do $$
declare
  month timestamp;
begin
  for month in
    select generate_series(
      date_trunc('month', least((select min(accepted_at) from calls), now()) at time zone 'UTC' - interval '1 day'),
      date_trunc('month', now() at time zone 'UTC') + interval '2 months', interval '1 month')
  loop
    execute format('create table %I partition of finished_calls for values from (%L) to (%L)',
      'finished_calls_' || to_char(month, 'YYYY_MM'), souk_first_id(month at time zone 'UTC'),
      souk_first_id((month + interval '1 month') at time zone 'UTC'));
  end loop;
end
$$;
create table finished_calls_default partition of finished_calls default;

insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at, input, draws, background)
select account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at, input, draws, background
from calls where state = 'reserved';

insert into finished_calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged, accepted_at,
  deadline_at, started_at, finished_at, attempts, answer, error, input, background)
select account_id, id, operation, claim_key, state, pool, units_reserved, units_charged, accepted_at,
  deadline_at, started_at, finished_at, attempts, answer, error, input, background
from calls where state <> 'reserved' order by id;

insert into call_claims (claim_key, call_id, accepted_at, answer, background)
select distinct on (claim_key) claim_key, id, accepted_at, answer, background
from calls where state = 'settled' and accepted_at > (select max(accepted_at) from calls) - interval '10 minutes'
order by claim_key, accepted_at desc;

drop table calls;

-- Every call, open or finished, as one table to read.
create view calls as
  select account_id, id, operation, claim_key, 'reserved'::call_state as state, pool, units_reserved, 0 as units_charged,
    accepted_at, deadline_at, null::timestamptz as started_at, null::timestamptz as finished_at, 0::smallint as attempts,
    null::text as answer, null::jsonb as error, input, draws, background
  from open_calls
  union all
  select account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
    accepted_at, deadline_at, started_at, finished_at, attempts, answer, error, input, null::jsonb, background
  from finished_calls;


drop type souk_ending;
