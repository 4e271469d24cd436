-- What the account has paid for the partial answer that a call continues, so that its charge does not depend on today's prices.
alter table open_calls add column units_paid integer not null default 0;

create or replace view calls as
  select account_id, id, operation, claim_key, 'reserved'::call_state as state, pool, units_reserved, 0 as units_charged,
    accepted_at, deadline_at, null::timestamptz as started_at, null::timestamptz as finished_at, 0::smallint as attempts,
    null::text as answer, null::jsonb as error, input, draws, background, polled, key_id, units_paid
  from open_calls
  union all
  select account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
    accepted_at, deadline_at, started_at, finished_at, attempts, answer, error, input, null::jsonb, background, polled, key_id, 0
  from finished_calls;
