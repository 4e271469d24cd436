-- Units by UTC day, source, operation and key: sums of the ledger, which outlive its lines. Workers add to them a few minutes
-- later. Test accounts have none.
create table unit_days (
  source source_kind not null,
  source_id bigint not null,
  -- The window of a subscription in which the call was accepted, counted from 0. 0 for a pack.
  period integer not null,
  day date not null,
  -- used: charged, less what was refunded to the wallet. revoked: less what was restored.
  kind text not null check (kind in ('used', 'revoked')),
  -- '': the line has no call, or the call is no longer stored.
  operation text not null,
  -- 0: no key is known.
  key_id bigint not null,
  account_id bigint not null,
  units bigint not null,
  primary key (source, source_id, period, day, kind, operation, key_id)
);
create index unit_days_day on unit_days (day);

-- How far the ledger is summed. Lines before summed_until are in unit_days. Those before next_until can be added once all
-- transactions before next_xid have ended, because then no further line of that time can appear.
create table unit_sums (
  is_only boolean primary key default true check (is_only),
  summed_until timestamptz not null,
  next_until timestamptz,
  next_xid xid8,
  check ((next_until is null) = (next_xid is null))
);

-- Tokens by UTC day, account and operation, in thousandths. Processes add to them every few seconds.
create table token_days (
  day date not null,
  account_id bigint not null,
  operation text not null,
  -- Calls that were charged, and calls that joined another one.
  calls bigint not null default 0,
  joined bigint not null default 0,
  spent bigint not null default 0,
  -- The cost of data that was found in a cache, or that another call was fetching.
  cached bigint not null default 0,
  merged bigint not null default 0,
  primary key (day, account_id, operation)
);

-- Whether calls are admitted, in one row. A restored database, and one whose server has changed, admits none until its books were
-- audited or the operator says so.
create table admission_state (
  one boolean primary key default true check (one),
  -- The server on which calls were admitted: its system identifier and timeline. null: not known, or the server does not show it.
  system_id text,
  timeline text,
  -- null: calls are admitted.
  closed_at timestamptz,
  reason text check (reason in ('restored', 'failed-over')),
  -- The last moment of which this database has records.
  recorded_until timestamptz,
  -- The incident of the status page.
  incident_id bigint,
  -- Whether an audit has found faults since then.
  has_faults boolean not null default false,
  -- When the last backup was begun, so that a restored one knows its time.
  backup_begun_at timestamptz
);
insert into admission_state default values;

-- The audit of the books that goes on all the time, account after account: where it is, in one row.
create table book_guard (
  one boolean primary key default true check (one),
  -- The last account that was audited in this round; null: the round is over.
  after_account bigint,
  round_started_at timestamptz,
  round_ended_at timestamptz,
  -- Accounts of this round, and those whose audit took too long.
  audited bigint not null default 0,
  unaudited bigint not null default 0,
  -- Time that was spent beyond what a minute allows.
  owed_ms double precision not null default 0
);
insert into book_guard default values;

-- Promises that the last audit of an account has found broken.
create table book_faults (
  account_id bigint not null references accounts on delete cascade,
  promise text not null,
  -- How many rows break it, and one of them.
  faults bigint not null,
  row jsonb not null,
  found_at timestamptz not null,
  seen_at timestamptz not null,
  primary key (account_id, promise)
);
