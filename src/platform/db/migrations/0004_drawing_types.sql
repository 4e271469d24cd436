-- Up Migration

-- A source of units for a call at one instant. If there is no limit, minute_* are null and available is 9e18.
create type souk_source as (
  source source_kind,
  source_id bigint,
  wallet wallet,
  available bigint,
  -- Why no units are available, and until when.
  reason text,
  reset_at timestamptz,
  minute_limit integer,
  minute_left integer,
  -- The present windows of its meters.
  minute_start timestamptz,
  day_start timestamptz,
  month_start timestamptz,
  month_end timestamptz,
  ends_at timestamptz
);

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

-- How one call ended.
create type souk_ending as (
  account_id bigint,
  call_id uuid,
  state call_state,
  units_charged integer,
  answer text,
  error jsonb,
  started_at timestamptz,
  attempts smallint
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
  minute_left bigint
);
