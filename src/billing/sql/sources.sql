-- The sources of accounts at an instant. Calls draw on them in this order: inside the off-peak window the off-peak subscription
-- and packs, then the general subscription and packs; packs by the earliest end. A meter never goes back: a gateway
-- whose clock is slow counts in the window that another has already opened.
create or replace function souk_sources(
  accounts bigint[], at timestamptz, window_start time, window_end time, zone text
)
returns setof souk_source language sql stable as $$
  select s.account_id, 'subscription'::source_kind, s.id, s.wallet, greatest(least(day_left, month_left), 0),
    -- The limit that resets last decides: a call that costs more than the month has left cannot succeed tomorrow
    -- either.
    case when month_left <= greatest(day_left, 0) then 'QUOTA_MONTHLY_EXCEEDED' else 'QUOTA_DAILY_EXCEEDED' end,
    per_minute, per_minute - case when minute_start >= this_minute then minute_used else 0 end,
    greatest(this_minute, minute_start), greatest(this_day, day_start), this_month, this_month_end, ends_at
  from (
    select s.*, this_minute, this_day, p.minute_limit * s.quantity as per_minute,
      coalesce(
        p.daily_limit * s.quantity - case when s.day_start >= this_day then s.day_used else 0 end, 9e18::bigint) as day_left,
      coalesce(
        p.monthly_limit * s.quantity - case when s.month_start = m.month_start then s.month_used else 0 end, 9e18::bigint)
        as month_left,
      m.month_start as this_month, m.month_end as this_month_end
    from (
      select date_trunc('minute', at, 'UTC') as this_minute, date_trunc('day', at, 'UTC') as this_day,
        souk_in_window(at, window_start, window_end, zone) as off_peak
    ) as now
    cross join unnest(souk_sources.accounts) as a (id)
    join subscriptions s on s.account_id = a.id
    join plans p on p.id = s.plan_id
    -- Computing a month takes longer than the rest, and nearly every call is in a month that is known.
    cross join lateral (
      select case when at < s.month_end then s.month_start else (select m.month_start from souk_month(s, at) as m) end as month_start,
        case when at < s.month_end then s.month_end else (select m.month_end from souk_month(s, at) as m) end as month_end
    ) as m
    where s.starts_at <= at and s.ends_at > at and (s.wallet = 'general' or off_peak)
    -- Keeps the planner from computing a column again wherever it is used.
    offset 0
  ) as s
  union all
  select k.account_id, 'pack', k.id, k.wallet, k.remaining_units, 'QUOTA_PACK_EXHAUSTED', k.minute_limit,
    k.minute_limit - case when k.pack_minute_start >= this_minute then k.pack_minute_used else 0 end,
    greatest(this_minute, k.pack_minute_start), null, null, null, k.valid_until
  from (
    select k.*, max(k.rate_limit_per_minute) filter (where k.remaining_units > 0) over (partition by k.account_id) as minute_limit,
      a.pack_minute_start, a.pack_minute_used, date_trunc('minute', at, 'UTC') as this_minute
    from unnest(souk_sources.accounts) as q (id) join packs k on k.account_id = q.id join accounts a on a.id = k.account_id
    where k.valid_from <= at and k.valid_until > at
  ) as k
  where k.wallet = 'general' or souk_in_window(at, coalesce(k.window_start, souk_sources.window_start),
    coalesce(k.window_end, souk_sources.window_end), coalesce(k.window_timezone, zone))
$$;

-- The present subscriptions of an account with the state of their meters at an instant, for the quota snapshot.
-- Unlike souk_sources it returns all wallets, usable now or not.
create or replace function souk_subscription_meters(account bigint, at timestamptz)
returns table (
  subscription_id bigint, wallet wallet, plan_id integer, plan_name text, ends_at timestamptz, quantity integer,
  minute_limit integer, minute_used integer, minute_end timestamptz,
  daily_limit bigint, day_used bigint, day_end timestamptz,
  monthly_limit bigint, month_used bigint, month_end timestamptz
)
language sql stable as $$
  select s.id, s.wallet, p.id, p.name, s.ends_at, s.quantity,
    p.minute_limit * s.quantity,
    case when s.minute_start = now.minute then s.minute_used else 0 end, now.minute + interval '1 minute',
    p.daily_limit * s.quantity,
    case when s.day_start = now.day then s.day_used else 0 end, now.day + interval '24 hours',
    p.monthly_limit * s.quantity,
    case when s.month_start = m.month_start then s.month_used else 0 end, m.month_end
  from subscriptions s
  join plans p on p.id = s.plan_id
  cross join lateral souk_month(s, at) as m
  cross join lateral (
    select
      greatest(date_trunc('minute', at, 'UTC'), s.minute_start) as minute,
      greatest(date_trunc('day', at, 'UTC'), s.day_start) as day
  ) as now
  where s.account_id = account and s.starts_at <= at and s.ends_at > at
$$;
