-- Up Migration

-- Weeks that are being fetched from the provider, or whose last attempt failed. A loaded week has no row.
create table aba_fetches (
  site smallint not null,
  week date not null,
  -- The report that was requested but is not loaded yet. After an interruption, the next attempt continues with it.
  report_id text,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  -- Why the last attempt failed.
  reason text,
  primary key (site, week)
);
