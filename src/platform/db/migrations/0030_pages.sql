-- Up Migration

-- Passwords with which account owners sign in to the pages. An account that an operator created may have none.
create table passwords (
  account_id bigint primary key references accounts,
  hash text not null,
  changed_at timestamptz not null
);

-- Tokens with which a password can be set once. An operator hands them out.
create table password_resets (
  token_hash bytea primary key,
  account_id bigint not null references accounts,
  expires_at timestamptz not null
);

-- `pages`: the key with which the pages of a signed-in customer call the service. It ends with the session, and
-- lists leave it out.
alter table api_keys
  add column purpose text not null default 'customer' check (purpose in ('customer', 'pages')),
  add column last_used_at timestamptz;

-- A session is identified by the digest of its token. A session without an account is the operator's.
create table web_sessions (
  token_hash bytea primary key,
  account_id bigint references accounts,
  key_hash bytea references api_keys,
  -- The operator views the pages of a customer, without changing anything.
  is_operator boolean not null default false,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  expires_at timestamptz not null
);

create index web_sessions_account on web_sessions (account_id);
create index web_sessions_key on web_sessions (key_hash);
create index web_sessions_expiry on web_sessions (expires_at);

-- Offers for sale. Only operators grant a plan without a price.
alter table plans
  add column price_cents integer check (price_cents >= 0),
  add column is_offered boolean not null default true;

create table pack_offers (
  code text primary key,
  name text not null,
  wallet wallet not null,
  units bigint not null check (units > 0),
  rate_limit_per_minute integer not null check (rate_limit_per_minute > 0),
  valid_days integer not null check (valid_days between 1 and 3650),
  price_cents integer not null check (price_cents >= 0),
  is_offered boolean not null default true
);

-- Purchases. Each one keeps the values of its offer, because offers change.
create table orders (
  id uuid primary key,
  account_id bigint not null references accounts,
  kind text not null check (kind in ('plan', 'pack')),
  offer_code text not null,
  offer_name text not null,
  wallet wallet not null,
  quantity integer not null check (quantity between 1 and 1000),
  months integer check (months between 1 and 36),
  amount_cents bigint not null check (amount_cents >= 0),
  currency text not null,
  provider text not null check (provider in ('demo', 'manual', 'stripe')),
  -- The provider's id of the payment, such as the id of a checkout session.
  provider_ref text unique,
  state text not null default 'pending' check (state in ('pending', 'granted', 'cancelled')),
  created_at timestamptz not null,
  ended_at timestamptz,
  -- The grants of this purchase.
  subscription_id bigint references subscriptions,
  pack_id bigint references packs
);

create index orders_account on orders (account_id, created_at);
create index orders_pending on orders (created_at) where state = 'pending';
