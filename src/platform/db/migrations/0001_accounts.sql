-- Up Migration

create type account_state as enum ('active', 'disabled', 'unavailable');

create table accounts (
  id bigint generated always as identity primary key,
  email text not null unique,
  name text not null,
  state account_state not null default 'active',
  -- The minute window of the account's packs. A subscription has its own.
  pack_minute_start timestamptz not null default '-infinity',
  pack_minute_used integer not null default 0,
  created_at timestamptz not null
);

-- A key is stored only as its SHA-256. Its owner recognises it by the prefix.
create table api_keys (
  hash bytea primary key,
  id bigint generated always as identity unique,
  account_id bigint not null references accounts,
  prefix text not null,
  created_at timestamptz not null,
  -- A rotated key works until this time.
  expires_at timestamptz,
  revoked_at timestamptz
);

create index api_keys_account on api_keys (account_id);
