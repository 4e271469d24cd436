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
