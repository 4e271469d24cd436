create type account_state as enum ('active', 'disabled', 'unavailable');

create table accounts (
  id bigint generated always as identity primary key,
  name text not null,
  state account_state not null default 'active',
  -- The minute window of the account's packs. A subscription has its own.
  pack_minute_start timestamptz not null default '-infinity',
  pack_minute_used integer not null default 0,
  created_at timestamptz not null,
  -- Set for the test account of an account: the owner of its test keys, with a wallet, calls and batches of its own. Its id is
  -- computed from that of the live account, so that programs know the mode of an account from its id; see
  -- src/accounts/authentication.ts.
  live_account_id bigint unique references accounts on delete cascade,
  -- When the personal data of the account will be erased, and when it was.
  erase_at timestamptz,
  erased_at timestamptz,
  -- Whether members have to sign in by OpenID Connect to see the pages.
  sso_required boolean not null default false,
  constraint accounts_mode check (
    case when live_account_id is null then id < 1000000000000 else id = 1000000000000 + live_account_id end)
);

create index accounts_created on accounts (created_at);
create index accounts_erase on accounts (erase_at) where erase_at is not null and erased_at is null;

-- A person signs in. Units, keys and data belong to accounts, whose members are people.
create table people (
  id bigint generated always as identity primary key,
  email text not null unique,
  name text not null,
  created_at timestamptz not null,
  -- When it was confirmed that the e-mail address belongs to the person; null: never.
  email_confirmed_at timestamptz,
  -- What the person may do in the console of the installation; null: nothing.
  installation_role text check (installation_role in ('operator', 'support', 'finance', 'observer')),
  -- Whether the role comes from a claim of the OpenID Connect provider, and ends with it.
  is_role_claimed boolean not null default false,
  -- Who the person is for the OpenID Connect provider; null: the person has not signed in by it.
  oidc_issuer text,
  oidc_subject text,
  -- Calls of at most these units are made without showing their cost first; 0: the cost of every call is shown.
  direct_units integer not null default 0 check (direct_units between 0 and 100),
  unique (oidc_issuer, oidc_subject)
);

create table members (
  account_id bigint not null references accounts on delete cascade,
  person_id bigint not null references people on delete cascade,
  role text not null check (role in ('owner', 'admin', 'developer', 'billing', 'viewer')),
  created_at timestamptz not null,
  primary key (account_id, person_id)
);

create index members_person on members (person_id);

-- The owner of each live account, of several the first. Lists and the provider of payments know an account by the address.
create view account_owners as
  select distinct on (m.account_id) m.account_id, m.person_id, p.email, p.email_confirmed_at
  from members m join people p on p.id = m.person_id
  where m.role = 'owner'
  order by m.account_id, m.created_at, m.person_id;

-- A session is identified by the digest of its token.
create table web_sessions (
  token_hash bytea primary key,
  person_id bigint not null references people on delete cascade,
  -- The account whose pages were shown last.
  account_id bigint references accounts on delete set null,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  expires_at timestamptz not null,
  -- Whether it was started by OpenID Connect.
  is_sso boolean not null default false
);

create index web_sessions_person on web_sessions (person_id);
create index web_sessions_account on web_sessions (account_id);
create index web_sessions_expiry on web_sessions (expires_at);

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
  -- `pages`: the key with which the pages of a signed-in person call the service for this account. It ends with the session, and
  -- lists leave it out.
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
  -- Who created it on the pages, or whose pages it is for; null: a key or the operator, or somebody who was erased.
  person_id bigint references people on delete set null,
  -- When a newer key replaced it. It works until expires_at.
  rotated_at timestamptz,
  -- The session of a key of the pages: null for other keys.
  session bytea references web_sessions on delete cascade
);

create index api_keys_account on api_keys (account_id);
create index api_keys_person on api_keys (person_id);
create index api_keys_session on api_keys (session) where session is not null;

-- Passwords with which people sign in to the pages. A person whom an operator created may have none.
create table passwords (
  person_id bigint primary key references people on delete cascade,
  hash text not null,
  changed_at timestamptz not null
);

-- Tokens with which a password can be set once. They are sent by mail, or an operator hands them out.
create table password_resets (
  token_hash bytea primary key,
  person_id bigint not null references people on delete cascade,
  expires_at timestamptz not null
);

create index password_resets_person on password_resets (person_id);

-- Tokens that confirm an e-mail address once. They are sent to that address.
create table email_confirmations (
  token_hash bytea primary key,
  person_id bigint not null references people on delete cascade,
  email text not null,
  -- The address of the person when the token was made. The token is invalid once the person has another one.
  present_email text not null,
  expires_at timestamptz not null
);

create index email_confirmations_person on email_confirmations (person_id);
create index email_confirmations_expiry on email_confirmations (expires_at);

-- The second factor of a person: a secret that an app of theirs shares, sealed like other secrets.
create table two_factor (
  person_id bigint primary key references people on delete cascade,
  secret text not null,
  -- null: the person has not entered a code yet, and signs in without one.
  confirmed_at timestamptz,
  -- The time step of the last code that was used. A code is used once.
  last_step bigint not null default 0
);

-- Codes for a person without the app, each for one sign-in. Only digests are stored.
create table recovery_codes (
  person_id bigint not null references two_factor on delete cascade,
  hash bytea not null,
  used_at timestamptz,
  primary key (person_id, hash)
);

-- Visitors who have entered the password of a person with a second factor, and no code yet.
create table pending_sign_ins (
  token_hash bytea primary key,
  person_id bigint not null references people on delete cascade,
  -- The stored password that was verified.
  password_digest text not null,
  expires_at timestamptz not null
);

create index pending_sign_ins_expiry on pending_sign_ins (expires_at);

-- Invitations to an account, until they are accepted, withdrawn or over. The token is made when the mail is sent.
create table invitations (
  id bigint generated always as identity primary key,
  token_hash bytea unique,
  account_id bigint not null references accounts on delete cascade,
  email text not null,
  role text not null check (role in ('owner', 'admin', 'developer', 'billing', 'viewer')),
  invited_by bigint references people on delete set null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  unique (account_id, email)
);

create index invitations_expiry on invitations (expires_at);

-- What the authorization server keeps: clients, interactions, codes, grants and tokens. Ids of codes and tokens are secrets, so
-- only their SHA-256 is stored.
create table oauth_records (
  kind text not null,
  id bytea not null,
  -- As text, because clients may send characters that jsonb does not store.
  payload json not null,
  grant_id text,
  -- The SHA-256 of what a person types in to allow a device.
  user_code bytea,
  -- The SHA-256 of the second id of a session.
  uid bytea,
  expires_at timestamptz not null,
  -- When a code or a refresh token was used. It works once.
  consumed_at timestamptz,
  primary key (kind, id)
);

create index oauth_records_grant on oauth_records (grant_id) where grant_id is not null;
create index oauth_records_user_code on oauth_records (user_code) where user_code is not null;
create index oauth_records_uid on oauth_records (uid) where uid is not null;
create index oauth_records_expiry on oauth_records (expires_at);
create index oauth_records_consumed on oauth_records (consumed_at) where consumed_at is not null;

-- A connection is a key that is never shown: a client uses it by access tokens of its grant.
create table connections (
  key_id bigint primary key references api_keys (id) on delete cascade,
  grant_id text not null unique,
  client_id text not null,
  -- As the client calls itself.
  client_name text not null,
  -- The host to which the person was sent back; a device: null.
  redirect_host text
);

create index connections_client on connections (client_id);
