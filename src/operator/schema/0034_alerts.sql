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

create index audit_log_backups on audit_log (at) where action = 'backup';

-- Messages to the chat of the operator belong to no account.
alter table outbox drop constraint outbox_check;
alter table outbox add constraint outbox_account check (channel <> 'webhook' or account_id is not null);
