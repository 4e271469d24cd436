-- Up Migration

-- Something a call may draw units from, at one instant. Numbers that nothing limits are null in minute_*, 9e18 in available.
create type souk_source as (
  source source_kind,
  source_id bigint,
  wallet wallet,
  available bigint,
  -- Why nothing is available, and until when.
  reason text,
  reset_at timestamptz,
  minute_limit integer,
  minute_left integer,
  -- The windows its meters count in.
  minute_start timestamptz,
  day_start timestamptz,
  month_start timestamptz,
  month_end timestamptz,
  ends_at timestamptz
);

-- Units that one call takes from one source. calls is what it adds to the source's minute bucket.
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

-- What became of one call that asked for admission. reset_at is the end of the minute for an admitted call, and for a
-- refused one the moment at which trying again makes sense.
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
