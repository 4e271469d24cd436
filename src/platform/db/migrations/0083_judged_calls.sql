-- Up Migration

-- What souk_admit_calls finds out about a call before it writes anything.
create type souk_judged_call as (
  idx integer,
  account_id bigint,
  claim_key bytea,
  outcome text,
  open_id uuid,
  open_state call_state,
  open_answer text,
  open_background boolean,
  has_claim boolean,
  key_id bigint,
  source_id bigint,
  wallet wallet,
  month_start timestamptz,
  minute_limit integer,
  minute_left bigint,
  simple boolean
);
