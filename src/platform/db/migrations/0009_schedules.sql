-- Up Migration

-- Patterns that create batches. Items are stored as they were sent: gzip of a JSON list.
create table schedules (
  id uuid primary key,
  account_id bigint not null references accounts,
  name text not null,
  cron text not null,
  timezone text not null,
  paused boolean not null default false,
  feed_window text not null check (feed_window in ('any', 'off_peak')),
  only_changes boolean not null default false,
  webhook text,
  max_units bigint,
  -- The hours that each run may take.
  run_hours integer not null,
  operation text not null,
  item_count integer not null,
  units_quoted bigint not null,
  items bytea not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The next time at which it is due; null while it is paused.
  next_due_at timestamptz
);

create index schedules_account on schedules (account_id, id);
create index schedules_due on schedules (next_due_at) where next_due_at is not null;

create table schedule_runs (
  id uuid primary key,
  schedule_id uuid not null references schedules on delete cascade,
  due_at timestamptz not null,
  started_at timestamptz not null,
  trigger text not null check (trigger in ('tick', 'missed', 'manual')),
  state text not null check (state in ('started', 'skipped', 'failed')),
  -- Why the run was skipped or failed.
  reason text,
  batch_id uuid
);

create index schedule_runs_schedule on schedule_runs (schedule_id, id);
-- A schedule runs once for each time at which it is due, in one of the processes.
create unique index schedule_runs_tick on schedule_runs (schedule_id, due_at) where trigger <> 'manual';

-- The last content of each item of a schedule, as hashes.
create table schedule_contents (
  schedule_id uuid not null references schedules on delete cascade,
  item_hash bytea not null,
  content_hash bytea not null,
  primary key (schedule_id, item_hash)
);

create index batches_schedule on batches (schedule_id, id) where schedule_id is not null;
