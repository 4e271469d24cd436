-- Batches: one operation for many items. The counts are of items, and change with every call that ends.
create table batches (
  id uuid primary key,
  account_id bigint not null references accounts,
  name text,
  operation text not null,
  state text not null check (state in ('running', 'done', 'expired', 'cancelled')),
  feed_window text not null check (feed_window in ('any', 'off_peak')),
  item_count integer not null,
  units_quoted bigint not null,
  units_charged bigint not null default 0,
  webhook text,
  idempotency_key text,
  request_hash bytea not null,
  schedule_id uuid,
  -- Leaves out items whose content has not changed since the schedule's run before.
  only_changes boolean not null default false,
  created_at timestamptz not null,
  deadline_at timestamptz not null,
  finished_at timestamptz,
  -- Why no calls are fed, and until when.
  waiting_reason text,
  waiting_until timestamptz,
  fed_at timestamptz not null default '-infinity',
  done_items integer not null default 0,
  failed_items integer not null default 0,
  cancelled_items integer not null default 0,
  unchanged_items integer not null default 0,
  -- Number of calls that have ended, which numbers results in the order of their ends.
  ends integer not null default 0,
  -- Bytes of the stored results, for the storage limit of the account.
  result_bytes bigint not null default 0,
  -- The key whose calls the batch makes; null: none is known.
  key_id bigint
);

create unique index batches_idempotency on batches (account_id, idempotency_key) where idempotency_key is not null;
create index batches_account on batches (account_id, id);
create index batches_schedule on batches (schedule_id, id) where schedule_id is not null;
create index batches_open on batches (id) where finished_at is null;
-- Open batches of an account: for its limit, and for the reasons why its batches wait.
create index batches_open_account on batches (account_id) where finished_at is null;
create index batches_finished on batches (finished_at) where finished_at is not null;
-- Batches of test accounts are deleted earlier than others.
create index batches_test_finished on batches (finished_at) where account_id >= 1000000000000 and finished_at is not null;
-- Only the newest ended batches of an account that cost nothing are kept.
create index batches_free on batches (account_id, id) where finished_at is not null and units_charged = 0;

-- The calls of a batch, each for one item or, if the operation can bundle items, for several consecutive ones. The
-- first item identifies a call, so that it can be split.
create table batch_calls (
  batch_id uuid not null references batches on delete cascade,
  first_item integer not null,
  item_count integer not null,
  state text not null default 'pending' check (state in ('pending', 'fed', 'done', 'failed', 'cancelled')),
  pool text not null,
  units integer not null,
  -- The items as sent, and the canonical input of the call, as JSON text. jsonb rejects some characters and rounds
  -- numbers, which customers may send in unused fields.
  items text not null,
  input text not null,
  call_id uuid,
  -- The call has joined an identical one, and costs nothing here.
  joined boolean not null default false,
  fed_at timestamptz,
  attempts smallint not null default 0,
  not_before timestamptz not null default '-infinity',
  ended_at timestamptz,
  end_no integer,
  error jsonb,
  -- The results: gzip of NDJSON.
  lines bytea,
  -- What has changed in the items of the call since the run before: gzip of NDJSON, one line for each changed value.
  changes bytea,
  primary key (batch_id, first_item)
);

alter table batch_calls alter column lines set storage external, alter column changes set storage external;
-- The next calls of a batch by pool: those that were never tried first, in the order of their items.
create index batch_calls_pending on batch_calls (batch_id, pool, not_before, first_item) where state = 'pending';
create index batch_calls_fed on batch_calls (batch_id, pool) where state = 'fed';
create index batch_calls_ended on batch_calls (batch_id, end_no) where end_no is not null;
-- A refund of a batch's call lowers the charge of the batch.
create index batch_calls_call on batch_calls (call_id) where call_id is not null;
