-- What the functions of src/billing/sql take and pass to each other.

-- A call that requests admission.
create type souk_asked_call as (
  call_id uuid,
  account_id bigint,
  -- The key that makes the call, and the version of it whose limits the caller has checked; null: any version.
  key_hash bytea,
  key_version integer,
  -- The key for which a call of a batch counts. It may have been revoked since.
  batch_key_hash bytea,
  charge_id bytea,
  operation text,
  units integer,
  pool text,
  deadline_at timestamptz,
  input jsonb,
  -- A call with an answer is settled immediately.
  answer text,
  background boolean,
  -- A settled call that this one does not join but continues, and what the account has paid for its answer.
  continues uuid,
  units_paid integer
);

-- A source of units for a call at one instant. If there is no limit, minute_* are null and available is 9e18.
create type souk_source as (
  account_id bigint,
  source source_kind,
  source_id bigint,
  wallet wallet,
  available bigint,
  -- Why no units are available.
  reason text,
  minute_limit integer,
  minute_left integer,
  -- The present windows of its meters.
  minute_start timestamptz,
  day_start timestamptz,
  month_start timestamptz,
  month_end timestamptz,
  ends_at timestamptz
);

-- A call that souk_admit_calls has admitted and not yet stored.
create type souk_new_call as (
  account_id bigint,
  id uuid,
  operation text,
  claim_key bytea,
  pool text,
  units integer,
  deadline_at timestamptz,
  input jsonb,
  answer text,
  background boolean,
  key_id bigint,
  units_paid integer,
  draws souk_draw[]
);

-- The outcome of one call that requested admission. reset_at is the end of the minute for an admitted call, and the
-- time to try again for a refused one.
create type souk_admission as (
  idx integer,
  outcome text,
  account_id bigint,
  call_id uuid,
  joined_state call_state,
  joined_answer text,
  wallet wallet,
  source source_kind,
  reason text,
  remaining bigint,
  reset_at timestamptz,
  minute_limit integer,
  minute_left bigint,
  -- Whether the joined call is a call of a batch.
  joined_background boolean
);

-- Units of a call that return to its key.
create type souk_key_return as (key_id bigint, accepted_at timestamptz, units bigint);
