-- What the page of activity shows.
alter table operation_hours
  -- Charged calls that were answered from the cache.
  add column cache_hits integer not null default 0,
  -- Calls that failed on our side or upstream.
  add column failed integer not null default 0,
  -- Jobs that have ended, and of these by run time, those up to each bound in milliseconds and above the bound before.
  add column jobs integer not null default 0,
  add column ms_50 integer not null default 0, add column ms_100 integer not null default 0, add column ms_200 integer not null default 0, add column ms_300 integer not null default 0,
  add column ms_500 integer not null default 0, add column ms_750 integer not null default 0, add column ms_1000 integer not null default 0, add column ms_1500 integer not null default 0,
  add column ms_2000 integer not null default 0, add column ms_3000 integer not null default 0, add column ms_5000 integer not null default 0, add column ms_7500 integer not null default 0,
  add column ms_10000 integer not null default 0, add column ms_15000 integer not null default 0, add column ms_20000 integer not null default 0, add column ms_30000 integer not null default 0,
  add column ms_60000 integer not null default 0, add column ms_120000 integer not null default 0, add column ms_300000 integer not null default 0, add column ms_900000 integer not null default 0;

-- The most jobs that waited in the queue of a pool in an hour, of one reading a minute.
create table queue_hours (
  hour timestamptz not null,
  pool text not null,
  waiting integer not null,
  primary key (hour, pool)
);

-- The accounts with a call in a week from Monday (UTC), without test accounts. Counting a year of usage_days takes too long for a page.
create table active_weeks (
  week date primary key,
  accounts bigint[] not null
);

create index accounts_created on accounts (created_at);
create index subscriptions_end on subscriptions (ends_at);
-- Purchases by the time of their payment.
create index orders_granted on orders (ended_at) where state = 'granted';
