-- Up Migration

-- Weeks that are being fetched from the provider, or could not be; a week that is loaded has no row.
create table aba_fetches (
  site smallint not null,
  week date not null,
  -- The report that was ordered and is not loaded yet: whoever goes on after a death or a break asks for it, not for another.
  report_id text,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  -- Why the last attempt brought nothing.
  reason text,
  primary key (site, week)
);
