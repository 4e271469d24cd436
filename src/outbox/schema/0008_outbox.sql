-- `delivered`: the receiver of a webhook has answered with 2xx. `sent`: the mail server has accepted a mail.
create type outbox_state as enum ('pending', 'delivered', 'sent', 'failed', 'not_sent');

-- Webhooks, mails and messages to chats, written in the transaction of their cause and sent by the workers of the pool `batch`.
create table outbox (
  -- A UUID of version 7. Receivers get it as webhook-id; the Message-ID of a mail is made of it.
  id uuid primary key,
  channel text not null check (channel in ('mail', 'webhook', 'chat')),
  -- null: a mail about a person or to an address, or a message to the chat of the operator.
  account_id bigint references accounts,
  -- Who gets a mail; null: a webhook, or an address that may have no profile.
  person_id bigint references people on delete cascade,
  -- The type of the event, or the kind of the mail.
  kind text not null,
  -- A URL, or an e-mail address.
  recipient text not null,
  -- Host and port of the URL, which limits of concurrent deliveries apply to; '' for mails, which go through one server.
  host text not null,
  -- The exact bytes of a webhook's body, because they are signed. For a mail, what its text is made of, as JSON: a link with a
  -- token is made when the mail is sent, and never stored here.
  payload text not null,
  -- A cause makes one mail, however often it is repeated; null for webhooks.
  cause text,
  state outbox_state not null default 'pending',
  -- Number of all attempts, which is the number of the last one in the log.
  attempts integer not null default 0,
  -- Number of failed attempts in the present schedule of retries. A replay sets it to 0.
  retries smallint not null default 0,
  next_attempt_at timestamptz,
  -- A process is sending this message, and holds it until this time.
  claimed_until timestamptz,
  last_status smallint,
  last_error text,
  -- The text of a mail with its links, sealed. Only under `npm start` without a mail server, which shows mails instead of
  -- sending them.
  shown_text text,
  created_at timestamptz not null,
  finished_at timestamptz,
  -- When the message is deleted.
  expires_at timestamptz,
  check ((state = 'pending') = (next_attempt_at is not null)),
  check ((state = 'pending') = (finished_at is null)),
  check (state = 'pending' or expires_at is not null),
  constraint outbox_account check (channel <> 'webhook' or account_id is not null)
);

create unique index outbox_cause on outbox (cause) where cause is not null;
create index outbox_list on outbox (account_id, channel, id);
create index outbox_list_by_state on outbox (account_id, channel, state, id);
-- Sorted by account and host first, so that a long queue of one receiver does not delay the others. Account 0: none.
create index outbox_due on outbox (channel, coalesce(account_id, 0), host, next_attempt_at) where state = 'pending';
create index outbox_person on outbox (person_id) where person_id is not null;
create index outbox_expired on outbox (expires_at);
-- Only the newest tests of an account are kept.
create index outbox_tests on outbox (account_id, id) where kind = 'webhook.test';
create index outbox_mails on outbox (id) where channel = 'mail';

create table outbox_attempts (
  message_id uuid not null references outbox on delete cascade,
  number integer not null,
  at timestamptz not null,
  -- Of HTTP.
  status smallint,
  error text,
  duration_ms integer not null,
  -- The beginning of the response.
  response text,
  primary key (message_id, number)
);

-- Signing needs the secret itself, so it is not hashed. A rotated one signs alongside its successor until it expires.
create table webhook_secrets (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  secret text not null,
  created_at timestamptz not null,
  expires_at timestamptz
);

create index webhook_secrets_account on webhook_secrets (account_id);
create unique index webhook_secrets_current on webhook_secrets (account_id) where expires_at is null;

-- Calls whose end is to be sent to a webhook. When the call ends, the row becomes a message.
create table call_webhooks (
  account_id bigint not null,
  call_id uuid not null,
  url text not null,
  -- Host and port of the address, as in outbox: the hosts of an account's pending webhooks are limited.
  host text not null,
  primary key (account_id, call_id, url)
);

-- How many messages about a call were requested, sent ones included. A row is deleted a day after the first request.
create table call_webhook_counts (
  account_id bigint not null,
  call_id uuid not null,
  messages integer not null,
  created_at timestamptz not null,
  primary key (account_id, call_id)
);

create index call_webhook_counts_created on call_webhook_counts (created_at);

-- What a member has switched off for an account, and the key that signs the links to do so.
create table mail_choices (
  account_id bigint not null references accounts,
  person_id bigint not null references people on delete cascade,
  topics_off text[] not null default '{}',
  unsubscribe_key bytea not null,
  primary key (account_id, person_id)
);

create index mail_choices_person on mail_choices (person_id);
