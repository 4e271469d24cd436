-- Up Migration

-- Batches that come again and again. What is to be done is kept as it was sent, compressed.
create table schedules (
  id uuid primary key,
  account_id bigint not null references accounts,
  name text not null,
  cron text not null,
  timezone text not null,
  paused boolean not null default false,
  only_changes boolean not null default false,
  -- How long each run has.
  run_hours integer not null,
  operation text not null,
  item_count integer not null,
  units_quoted bigint not null,
  request bytea not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Ticks up to here are done with: run, skipped, or before the schedule was in force.
  handled_until timestamptz not null
);

create index schedules_account on schedules (account_id, id);

create table schedule_runs (
  id uuid primary key,
  schedule_id uuid not null references schedules on delete cascade,
  due_at timestamptz not null,
  started_at timestamptz not null,
  trigger text not null check (trigger in ('tick', 'missed', 'manual')),
  state text not null check (state in ('started', 'skipped', 'failed')),
  -- Why it was skipped or has failed.
  reason text,
  batch_id uuid
);

create index schedule_runs_schedule on schedule_runs (schedule_id, id);
-- A tick is run once, whoever comes first.
create unique index schedule_runs_tick on schedule_runs (schedule_id, due_at) where trigger <> 'manual';

-- What each item of a schedule was answered last, as hashes.
create table schedule_contents (
  schedule_id uuid not null references schedules on delete cascade,
  item_hash bytea not null,
  content_hash bytea not null,
  primary key (schedule_id, item_hash)
);
