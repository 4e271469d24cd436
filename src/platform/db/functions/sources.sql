-- The sources of an account at an instant, in drawing order: inside the off-peak window the off-peak subscription
-- and packs, then the general subscription and packs; packs by the earliest end. A meter never goes back: a gateway
-- whose clock is slow counts in the window that another has already opened.
create or replace function souk_sources(
  account bigint, at timestamptz, window_start time, window_end time, zone text
)
returns souk_source[] language plpgsql stable as $$
#variable_conflict use_column
declare
  this_minute constant timestamptz := date_trunc('minute', at, 'UTC');
  this_day constant timestamptz := date_trunc('day', at, 'UTC');
  off_peak constant boolean := souk_in_window(at, window_start, window_end, zone);
  s record;
  found_sources souk_source[] := '{}';
  source souk_source;
  day_left bigint;
  month_left bigint;
begin
  for s in
    select s.*, p.minute_limit * s.quantity as minute_limit, p.daily_limit * s.quantity as daily_limit,
      p.monthly_limit * s.quantity as monthly_limit, m.month_start as this_month, m.month_end as this_month_end
    from subscriptions s join plans p on p.id = s.plan_id cross join lateral souk_month(s, at) as m
    where s.account_id = account and s.starts_at <= at and s.ends_at > at
  loop
    continue when s.wallet = 'off_peak' and not off_peak;
    source := null;
    source.source := 'subscription'; source.source_id := s.id; source.wallet := s.wallet; source.ends_at := s.ends_at;
    source.minute_start := greatest(this_minute, s.minute_start);
    source.day_start := greatest(this_day, s.day_start);
    source.month_start := s.this_month;
    source.month_end := s.this_month_end;
    source.minute_limit := s.minute_limit;
    source.minute_left := s.minute_limit - case when s.minute_start = source.minute_start then s.minute_used else 0 end;
    day_left := coalesce(
      s.daily_limit - case when s.day_start = source.day_start then s.day_used else 0 end, 9e18::bigint);
    month_left := coalesce(
      s.monthly_limit - case when s.month_start = source.month_start then s.month_used else 0 end, 9e18::bigint);
    source.available := greatest(least(day_left, month_left), 0);
    -- The limit that resets last decides: a call that costs more than the month has left cannot succeed tomorrow
    -- either.
    if month_left <= greatest(day_left, 0) then
      source.reason := 'QUOTA_MONTHLY_EXCEEDED'; source.reset_at := source.month_end;
    else
      source.reason := 'QUOTA_DAILY_EXCEEDED'; source.reset_at := source.day_start + interval '24 hours';
    end if;
    found_sources := found_sources || source;
  end loop;

  for s in
    select k.*, max(k.rate_limit_per_minute) filter (where k.remaining_units > 0) over () as user_limit,
      a.pack_minute_start, a.pack_minute_used
    from packs k join accounts a on a.id = k.account_id
    where k.account_id = account and k.valid_from <= at and k.valid_until > at
  loop
    continue when s.wallet = 'off_peak' and not souk_in_window(at, coalesce(s.window_start, window_start),
      coalesce(s.window_end, window_end), coalesce(s.window_timezone, zone));
    source := null;
    source.source := 'pack'; source.source_id := s.id; source.wallet := s.wallet; source.ends_at := s.valid_until;
    source.minute_start := greatest(this_minute, s.pack_minute_start);
    source.minute_limit := s.user_limit;
    source.minute_left := s.user_limit
      - case when s.pack_minute_start = source.minute_start then s.pack_minute_used else 0 end;
    source.available := s.remaining_units; source.reason := 'QUOTA_PACK_EXHAUSTED';
    found_sources := found_sources || source;
  end loop;

  if cardinality(found_sources) > 1 then
    found_sources := array(
      select f from unnest(found_sources) as f order by f.wallet desc, f.source, f.ends_at, f.source_id);
  end if;
  return found_sources;
end
$$;

-- The present subscriptions of an account with the state of their meters at an instant, for the quota snapshot.
-- Unlike souk_sources it returns all wallets, usable now or not. (Dropped first, because its columns cannot be
-- replaced.)
drop function if exists souk_subscription_meters(bigint, timestamptz);
create function souk_subscription_meters(account bigint, at timestamptz)
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
