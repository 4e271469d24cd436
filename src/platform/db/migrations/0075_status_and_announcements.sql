-- Up Migration

-- Outcomes of work by minute and component of the status page.
create table status_minutes (
  minute timestamptz not null,
  component text not null,
  good integer not null,
  bad integer not null,
  primary key (minute, component)
);

-- Times in which a component failed, found in the minutes.
create table incidents (
  id bigint generated always as identity primary key,
  component text not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  -- The worst level, and the present one.
  level text not null check (level in ('degraded', 'outage')),
  level_now text not null check (level_now in ('operational', 'degraded', 'outage')),
  -- Notes of the operator: a list of {at, text}.
  notes jsonb not null default '[]',
  unique (component, started_at)
);
create index incidents_end on incidents (ended_at);

create table announcements (
  id bigint generated always as identity primary key,
  text text not null check (length(text) between 1 and 500),
  link text,
  level text not null check (level in ('info', 'warning')),
  audience text not null check (audience in ('everyone', 'signed-in')),
  starts_at timestamptz not null,
  ends_at timestamptz not null check (ends_at > starts_at)
);
create index announcements_end on announcements (ends_at);
