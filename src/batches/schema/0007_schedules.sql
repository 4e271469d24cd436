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
  next_due_at timestamptz,
  -- The key whose batches the schedule creates; null: none is known.
  key_id bigint,
  -- Whether a mail with a link to the results is sent when a run of the schedule ends.
  mail_results boolean not null default false
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
  batch_id uuid,
  -- Whether its batch has ended with a result, or without a failed item. The batch is deleted before the run. null: it has not ended,
  -- or there is none.
  succeeded boolean
);

create index schedule_runs_schedule on schedule_runs (schedule_id, id);
-- A schedule runs once for each time at which it is due, in one of the processes.
create unique index schedule_runs_tick on schedule_runs (schedule_id, due_at) where trigger <> 'manual';

-- The last content of each item of a schedule, as hashes.
create table schedule_contents (
  schedule_id uuid not null references schedules on delete cascade,
  item_hash bytea not null,
  content_hash bytea not null,
  -- The rows of the item in the last run: gzip of a JSON list of objects; null if the results form no table, or are too large to be
  -- compared.
  rows bytea,
  primary key (schedule_id, item_hash)
);

-- A tracker is a schedule whose results are compared with conditions when they are collected.
create table trackers (
  id uuid primary key references schedules on delete cascade,
  -- The provider's number of the site.
  domain smallint not null,
  conditions jsonb not null,
  alert_at_start boolean not null,
  hysteresis_percent smallint not null,
  quiet_hours smallint not null,
  -- Average over 52 weeks.
  looks_per_day double precision not null,
  alert_webhook text,
  -- How alerts are sent: `webhook`, `email` and `chat`, or none of them.
  notify text[] not null default '{webhook,chat}',
  -- The last alert that a mail contained, and the time of that mail.
  mailed_alert_id uuid,
  mailed_at timestamptz,
  -- Instead of conditions, a screen of search terms: the parameters of research.screen, without week and cursor.
  screen jsonb,
  -- The last week for which a run was started. It is set in the transaction that creates the run, so a week runs once.
  screen_week date,
  -- The address of an incoming webhook of a chat, sealed, and its host. Messages have only the host: the address is read when they
  -- are sent.
  chat text,
  chat_host text,
  -- The last alert that a message to the chat contained, and the time of that message.
  chat_alert_id uuid,
  chat_at timestamptz,
  chat_message_id uuid
);

create index trackers_mailing on trackers (id) where 'email' = any (notify);
create index trackers_chat on trackers (id) where 'chat' = any (notify);
create index trackers_screens on trackers (domain, screen_week) where screen is not null;

-- The state of each condition at the last check, by the key of the condition. An item is an ASIN or the id of a search term.
create table tracker_states (
  tracker_id uuid not null references trackers on delete cascade,
  item text not null,
  states jsonb not null,
  -- The title of a tracked product, or the search term, and the file name of the product's main picture, as of the last check.
  title text,
  image text,
  primary key (tracker_id, item)
);

create table tracker_alerts (
  id uuid primary key,
  tracker_id uuid not null references trackers on delete cascade,
  batch_id uuid not null,
  item text not null,
  condition_key text not null,
  condition jsonb not null,
  -- The title of the product, or the search term.
  title text,
  -- A number, the id of a seller, or null.
  before_value jsonb,
  after_value jsonb,
  threshold double precision,
  -- The filters of a screen that a term crosses, in an alert about a screen.
  reasons jsonb,
  created_at timestamptz not null,
  -- A batch raises an alert once, however often it is collected.
  unique (tracker_id, batch_id, item, condition_key)
);

create index tracker_alerts_tracker on tracker_alerts (tracker_id, id);
create index tracker_alerts_age on tracker_alerts (created_at);
