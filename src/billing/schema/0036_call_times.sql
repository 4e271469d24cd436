-- When the job of a call first asked the source of its data, and when the last answer arrived; null if it asked nothing. With them
-- a customer sees where the time of a call went. A call that is answered from the cache has neither.
alter table finished_calls add column asked_at timestamptz, add column answered_at timestamptz;
-- What the account had paid for the partial answer that the call continued; null: it continued none.
alter table finished_calls add column units_paid integer;

-- For the errors of an account.
create index finished_calls_errors on finished_calls (account_id, finished_at) where error is not null;

create or replace view calls as
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

-- The function has two more parameters.
drop function if exists souk_finish(timestamptz, bigint[], uuid[], integer[], text[], jsonb[], timestamptz[], integer[]);
