create type account_state as enum ('active', 'disabled', 'unavailable');

create table accounts (
  id bigint generated always as identity primary key,
  email text not null unique,
  name text not null,
  state account_state not null default 'active',
  -- The minute window of the account's packs. A subscription has its own.
  pack_minute_start timestamptz not null default '-infinity',
  pack_minute_used integer not null default 0,
  created_at timestamptz not null,
  -- When it was confirmed that the e-mail address belongs to the owner; null: never.
  email_confirmed_at timestamptz,
  -- Set for the test account of an account: the owner of its test keys, with a wallet, calls and batches of its own. Its id is
  -- computed from that of the live account, so that programs know the mode of an account from its id; see
  -- src/accounts/authentication.ts.
  live_account_id bigint unique references accounts on delete cascade,
  -- When the personal data of the account will be erased, and when it was.
  erase_at timestamptz,
  erased_at timestamptz,
  constraint accounts_mode check (
    case when live_account_id is null then id < 1000000000000 else id = 1000000000000 + live_account_id end)
);

create index accounts_erase on accounts (erase_at) where erase_at is not null and erased_at is null;

-- A key is stored only as its SHA-256. Its owner recognises it by the prefix.
create table api_keys (
  hash bytea primary key,
  id bigint generated always as identity unique,
  account_id bigint not null references accounts,
  prefix text not null,
  created_at timestamptz not null,
  -- A rotated key works until this time.
  expires_at timestamptz,
  revoked_at timestamptz,
  -- `pages`: the key with which the pages of a signed-in customer call the service. It ends with the session, and lists leave it out.
  purpose text not null default 'customer' check (purpose in ('customer', 'pages')),
  last_used_at timestamptz,
  name text,
  -- Counts changes of scopes, networks and caps, so that a process that knows a key notices that its limits have changed.
  version integer not null default 0,
  -- What the key may do; null: every call.
  scopes text[],
  cap_day bigint check (cap_day > 0),
  cap_month bigint check (cap_month > 0),
  -- In CIDR notation; null: all networks.
  networks text[],
  -- The key that created it; null: the pages or the operator.
  created_by bigint,
  -- When a newer key replaced it. It works until expires_at.
  rotated_at timestamptz
);

create index api_keys_account on api_keys (account_id);

-- Passwords with which account owners sign in to the pages. An account that an operator created may have none.
create table passwords (
  account_id bigint primary key references accounts,
  hash text not null,
  changed_at timestamptz not null
);

-- Tokens with which a password can be set once. They are sent by mail, or an operator hands them out.
create table password_resets (
  token_hash bytea primary key,
  account_id bigint not null references accounts,
  expires_at timestamptz not null
);

-- Tokens that confirm an e-mail address once. They are sent to that address.
create table email_confirmations (
  token_hash bytea primary key,
  account_id bigint not null references accounts,
  email text not null,
  -- The address of the account when the token was made. The token is invalid once the account has another one.
  present_email text not null,
  expires_at timestamptz not null
);

create index email_confirmations_account on email_confirmations (account_id);
create index email_confirmations_expiry on email_confirmations (expires_at);

-- A session is identified by the digest of its token. A session without an account is the operator's.
create table web_sessions (
  token_hash bytea primary key,
  account_id bigint references accounts,
  key_hash bytea references api_keys,
  -- The operator views the pages of a customer, without changing anything.
  is_operator boolean not null default false,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  expires_at timestamptz not null,
  -- Digest of the token with which an operator has signed in. When the token changes, the session ends.
  credential bytea,
  -- Whether the pages show the test account. The key of the session is then one of the test account.
  is_test boolean not null default false
);

create index web_sessions_account on web_sessions (account_id);
create index web_sessions_key on web_sessions (key_hash);
create index web_sessions_expiry on web_sessions (expires_at);

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

-- The second factor of the operator: one row, which sign-ins lock while they check whether a code is required.
create table operator_two_factor (
  only_row boolean primary key default true check (only_row),
  -- Shared with an app of the operator, sealed like other secrets. null: the token alone signs in.
  secret text,
  -- The time step of the last code that was used. A code is used once.
  last_step bigint not null default 0,
  -- Digests of the recovery codes that are left.
  recovery_hashes bytea[] not null default '{}'
);

insert into operator_two_factor default values;
