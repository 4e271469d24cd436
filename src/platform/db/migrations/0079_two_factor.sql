-- Up Migration

-- The second factor of an account: a secret that an app of its owner shares, sealed like other secrets.
create table two_factor (
  account_id bigint primary key references accounts on delete cascade,
  secret text not null,
  -- null: the owner has not entered a code yet, and signs in without one.
  confirmed_at timestamptz,
  -- The time step of the last code that was used. A code is used once.
  last_step bigint not null default 0
);

-- Codes for an owner without the app, each for one sign-in. Only digests are stored.
create table recovery_codes (
  account_id bigint not null references two_factor on delete cascade,
  hash bytea not null,
  used_at timestamptz,
  primary key (account_id, hash)
);

-- Visitors who have entered the password of an account with a second factor, and no code yet.
create table pending_sign_ins (
  token_hash bytea primary key,
  account_id bigint not null references accounts on delete cascade,
  -- The stored password that was verified.
  password_digest text not null,
  expires_at timestamptz not null
);

create index pending_sign_ins_expiry on pending_sign_ins (expires_at);
