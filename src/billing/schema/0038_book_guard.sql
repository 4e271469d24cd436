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
