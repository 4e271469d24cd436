-- The operator's accounts at the provider of product data: those that the console has added, and those of the setting
-- KEEPA_API_KEY as far as workers have named them.
create table provider_accounts (
  provider text not null,
  name text not null,
  -- Encrypted with SECRET_KEY, if it is set. null: the workers have the key in their setting.
  key text,
  -- Finds the same key again.
  key_digest bytea not null,
  state text not null default 'active' check (state in ('active', 'draining', 'paused')),
  created_at timestamptz not null,
  -- When a worker last named an account of its setting.
  seen_at timestamptz,
  primary key (provider, name),
  check ((key is null) = (seen_at is not null))
);

-- Requests to the provider by account and hour, of all workers together. Workers add to them every few seconds.
create table provider_account_hours (
  provider text not null,
  account text not null,
  hour timestamptz not null,
  answered bigint not null default 0,
  refused bigint not null default 0,
  limited bigint not null default 0,
  failed bigint not null default 0,
  timeout bigint not null default 0,
  tokens double precision not null default 0,
  primary key (provider, account, hour)
);
create index provider_account_hours_hour on provider_account_hours (hour);
