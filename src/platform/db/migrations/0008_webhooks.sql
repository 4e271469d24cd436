-- Up Migration

create type webhook_state as enum ('pending', 'delivered', 'failed');

-- Signing needs the secret itself, so it is not hashed. A rotated one signs beside its successor until it expires.
create table webhook_secrets (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  secret text not null,
  created_at timestamptz not null,
  expires_at timestamptz
);

create index webhook_secrets_account on webhook_secrets (account_id);
create unique index webhook_secrets_current on webhook_secrets (account_id) where expires_at is null;

create table webhook_deliveries (
  -- A UUID of version 7. Receivers get it as webhook-id.
  id uuid primary key,
  account_id bigint not null references accounts,
  url text not null,
  -- Host and port of the address, which limits of concurrent deliveries apply to.
  host text not null,
  type text not null,
  -- The exact bytes of the body, because they are signed.
  payload text not null,
  state webhook_state not null default 'pending',
  -- Number of all attempts, which is the number of the last one in the log.
  attempts integer not null default 0,
  -- Number of failed attempts in the present schedule of retries. A replay sets it to 0.
  retries smallint not null default 0,
  next_attempt_at timestamptz,
  -- A process is sending this delivery, and holds it until this time.
  claimed_until timestamptz,
  last_status smallint,
  last_error text,
  created_at timestamptz not null,
  finished_at timestamptz,
  check ((state = 'pending') = (next_attempt_at is not null)),
  check ((state = 'pending') = (finished_at is null))
);

create index webhook_deliveries_list on webhook_deliveries (account_id, id);
create index webhook_deliveries_list_by_state on webhook_deliveries (account_id, state, id);
-- Sorted by account and host first, so that a long queue of one receiver does not delay the others.
create index webhook_deliveries_due on webhook_deliveries (account_id, host, next_attempt_at) where state = 'pending';
create index webhook_deliveries_finished on webhook_deliveries (finished_at) where state <> 'pending';

create table webhook_attempts (
  delivery_id uuid not null references webhook_deliveries on delete cascade,
  number integer not null,
  at timestamptz not null,
  status smallint,
  error text,
  duration_ms integer not null,
  -- The beginning of the response.
  response text,
  primary key (delivery_id, number)
);

-- Calls whose end is to be sent to a webhook. When the call ends, the row becomes a delivery.
create table call_webhooks (
  account_id bigint not null,
  call_id uuid not null,
  url text not null,
  primary key (account_id, call_id, url)
);
