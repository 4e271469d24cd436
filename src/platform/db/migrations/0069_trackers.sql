-- Up Migration

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
  alert_webhook text
);

-- The state of each condition at the last look, by the key of the condition. An item is an ASIN or the id of a search term.
create table tracker_states (
  tracker_id uuid not null references trackers on delete cascade,
  item text not null,
  states jsonb not null,
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
  created_at timestamptz not null,
  -- A batch raises an alert once, however often it is collected.
  unique (tracker_id, batch_id, item, condition_key)
);

create index tracker_alerts_tracker on tracker_alerts (tracker_id, id);
create index tracker_alerts_age on tracker_alerts (created_at);
