-- Usage statistics: calls, units and tokens by operation and hour, of all processes together. Processes add to them
-- every few seconds: the ledger is exact, these are quick to read.
create table operation_hours (
  hour timestamptz not null,
  operation text not null,
  calls bigint not null default 0,
  units_sold bigint not null default 0,
  tokens_spent double precision not null default 0,
  -- Cost of the data that was found in a cache.
  tokens_saved double precision not null default 0,
  -- Charged calls that were answered from the cache.
  cache_hits integer not null default 0,
  -- Calls that failed on our side or upstream.
  failed integer not null default 0,
  -- Jobs that have ended, and of these by run time, those up to each bound in milliseconds and above the bound before.
  jobs integer not null default 0,
  ms_50 integer not null default 0,
  ms_100 integer not null default 0,
  ms_200 integer not null default 0,
  ms_300 integer not null default 0,
  ms_500 integer not null default 0,
  ms_750 integer not null default 0,
  ms_1000 integer not null default 0,
  ms_1500 integer not null default 0,
  ms_2000 integer not null default 0,
  ms_3000 integer not null default 0,
  ms_5000 integer not null default 0,
  ms_7500 integer not null default 0,
  ms_10000 integer not null default 0,
  ms_15000 integer not null default 0,
  ms_20000 integer not null default 0,
  ms_30000 integer not null default 0,
  ms_60000 integer not null default 0,
  ms_120000 integer not null default 0,
  ms_300000 integer not null default 0,
  ms_900000 integer not null default 0,
  primary key (hour, operation)
);

-- The most jobs that waited in the queue of a pool in an hour, of one reading a minute.
create table queue_hours (
  hour timestamptz not null,
  pool text not null,
  waiting integer not null,
  primary key (hour, pool)
);

-- The accounts with a call in a week from Monday (UTC), without test accounts. Counting a year of usage_days takes too long for a page.
create table active_weeks (
  week date primary key,
  accounts bigint[] not null
);

-- The data provider's tokens by minute, for some days.
create table token_readings (
  minute timestamptz primary key,
  tokens_left double precision not null,
  tokens_per_minute double precision not null,
  -- The provider of product data.
  provider text not null default ''
);

-- The failure log: failures on our side or upstream, with details for the operator only, for thirty days.
create table failures (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  code text not null,
  -- The route or the operation.
  place text not null,
  error_id text,
  request_id text,
  call_id uuid,
  account_id bigint,
  reason text not null
);
create index failures_at on failures (at);
create index failures_error_id on failures (error_id) where error_id is not null;
create index failures_request on failures (request_id) where request_id is not null;
create index failures_call on failures (call_id) where call_id is not null;

-- What the operator did, and what people and keys did in accounts. Lines are only added; the triggers refuse to change them, and
-- to delete lines of the last 400 days.
create table audit_log (
  id bigint generated always as identity primary key,
  -- By the clock of the database.
  at timestamptz not null default clock_timestamp(),
  channel text not null check (channel in ('console', 'command', 'page', 'api')),
  -- `person` or `key` and a number, the start of the digest of the operator token, or the user and host of the command.
  operator text not null,
  -- Stays when the person is erased, so that lines need not change.
  person_id bigint,
  -- The key with which a program acted.
  key_id bigint,
  -- The network address of a request to the console.
  address text,
  action text not null,
  account_id bigint,
  -- What was changed, such as the code of a plan.
  target text,
  before jsonb,
  after jsonb
);
create index audit_log_at on audit_log (at);
create index audit_log_account on audit_log (account_id, id) where account_id is not null;
create index audit_log_person on audit_log (person_id, id) where person_id is not null and account_id is null;
-- They count the lines of a day.
create index audit_log_page on audit_log (person_id, at) where channel = 'page' and account_id is not null;
create index audit_log_api on audit_log (account_id, at) where channel = 'api';
create index audit_log_refused on audit_log (at) where action = 'session.refused';
create index audit_log_backups on audit_log (at) where action = 'backup';

create function souk_keep_audit_log() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.at < now() - interval '400 days' then return old; end if;
  end if;
  raise exception 'the audit log is append-only: % is refused', lower(tg_op) using errcode = 'insufficient_privilege';
end
$$;
create trigger audit_log_rows before update or delete on audit_log for each row execute function souk_keep_audit_log();
create trigger audit_log_truncate before truncate on audit_log for each statement execute function souk_keep_audit_log();

-- Outcomes of work by minute and component of the status page.
create table status_minutes (
  minute timestamptz not null,
  component text not null,
  good integer not null,
  bad integer not null,
  primary key (minute, component)
);

-- Times in which a component failed, found in the minutes.
create table incidents (
  id bigint generated always as identity primary key,
  component text not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  -- The worst level, and the present one.
  level text not null check (level in ('degraded', 'outage')),
  level_now text not null check (level_now in ('operational', 'degraded', 'outage')),
  -- Notes of the operator: a list of {at, text}.
  notes jsonb not null default '[]',
  -- Begun by the closing of admission, and not by failures that were measured.
  is_recovery boolean not null default false,
  unique (component, started_at)
);
create index incidents_end on incidents (ended_at);

create table announcements (
  id bigint generated always as identity primary key,
  text text not null check (length(text) between 1 and 500),
  link text,
  level text not null check (level in ('info', 'warning')),
  audience text not null check (audience in ('everyone', 'signed-in')),
  starts_at timestamptz not null,
  ends_at timestamptz not null check (ends_at > starts_at)
);
create index announcements_end on announcements (ends_at);

-- What maintenance has created, folded and deleted, for the operator console.
create table retention_notes (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  note text not null
);

-- The alerts of the operator: a row for each that was ever pending, sent or silenced.
create table alerts (
  name text primary key,
  -- Since when its condition holds, and when it held last. null: all is well.
  since timestamptz,
  seen_at timestamptz,
  -- What fulfils the condition: a list of {name, text}.
  lines jsonb not null default '[]',
  -- The names of the lines in the last message of this period. null: there was none.
  notified text[],
  -- The last message that said that it has begun or goes on.
  notified_at timestamptz,
  silenced_until timestamptz,
  check ((since is null) = (seen_at is null)),
  check (notified is null or since is not null)
);

-- Processes whose clock differs from PostgreSQL's, which they write themselves.
create table wrong_clocks (
  process text primary key,
  -- Of the machine, compared with PostgreSQL.
  ahead_ms double precision not null,
  noted_at timestamptz not null
);

-- Figures of a UTC day.
create table daily_figures (
  day date not null,
  name text not null,
  value double precision not null,
  primary key (day, name)
);

-- What operators have written about an account, for each other.
create table account_notes (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  at timestamptz not null,
  -- As in the audit log.
  author text not null,
  text text not null check (length(text) between 1 and 1000)
);
create index account_notes_account on account_notes (account_id, id);
