-- Up Migration

-- Mails to customers, written in the transaction of their cause and sent by the workers of the pool `batch`.
create table mails (
  -- A UUID of version 7. The Message-ID is made of it.
  id uuid primary key,
  -- null: a password link that was requested for an e-mail address, which may have no account.
  account_id bigint references accounts,
  kind text not null,
  recipient text not null,
  -- What the text is made of, as JSON. A link with a token is made when the mail is sent, and never stored here.
  facts text not null,
  -- A cause makes one mail, however often it is repeated.
  cause text not null unique,
  state text not null default 'pending' check (state in ('pending', 'sent', 'failed', 'not_sent')),
  tries smallint not null default 0,
  next_attempt_at timestamptz,
  -- A process is sending this mail, and holds it until this time.
  claimed_until timestamptz,
  last_error text,
  -- The text with its links, sealed. Only under `npm start` without a mail server, which shows mails instead of sending them.
  shown_text text,
  created_at timestamptz not null,
  finished_at timestamptz,
  check ((state = 'pending') = (next_attempt_at is not null)),
  check ((state = 'pending') = (finished_at is null))
);

create index mails_due on mails (next_attempt_at) where state = 'pending';
create index mails_account on mails (account_id);
create index mails_finished on mails (kind, finished_at) where state <> 'pending';

-- What an account has switched off, and the key that signs its links to do so.
create table mail_choices (
  account_id bigint primary key references accounts,
  topics_off text[] not null default '{}',
  unsubscribe_key bytea not null
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
