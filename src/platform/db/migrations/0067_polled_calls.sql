-- Up Migration

-- True for a call whose caller has its job and may fetch the result later.
alter table open_calls add column polled boolean not null default false;
alter table finished_calls add column polled boolean not null default false;

create or replace view calls as
  select account_id, id, operation, claim_key, 'reserved'::call_state as state, pool, units_reserved, 0 as units_charged,
    accepted_at, deadline_at, null::timestamptz as started_at, null::timestamptz as finished_at, 0::smallint as attempts,
    null::text as answer, null::jsonb as error, input, draws, background, polled
  from open_calls
  union all
  select account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
    accepted_at, deadline_at, started_at, finished_at, attempts, answer, error, input, null::jsonb, background, polled
  from finished_calls;
