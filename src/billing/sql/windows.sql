-- Whether an instant is in the daily window [window_start, window_end) of a time zone. A window whose end is not
-- after its start crosses midnight. The window follows local time, so it keeps its hours when clocks change.
create or replace function souk_in_window(at timestamptz, window_start time, window_end time, zone text)
returns boolean language sql stable as $$
  select case
    when window_start < window_end
      then (at at time zone zone)::time >= window_start and (at at time zone zone)::time < window_end
    else (at at time zone zone)::time >= window_start or (at at time zone zone)::time < window_end
  end
$$;

-- The next opening of the daily window after an instant: the first moment inside the window after one outside it.
-- Most openings are at window_start in local time. If clocks skip that time, the window opens at the change. If
-- clocks go back to a time before window_end, it opens a second time at the change.
create or replace function souk_next_window_start(
  at timestamptz, window_start time, window_end time, zone text
)
returns timestamptz language sql stable as $$
  with days as materialized (
    select day, souk_utc_offset(day, zone) as utc_offset,
      souk_utc_offset(day + interval '24 hours', zone) as next_offset
    from generate_series(
      date_trunc('hour', at, 'UTC') - interval '24 hours', at + interval '72 hours', interval '24 hours') as day
  ),
  moments as (
    -- A local time that occurs twice is found with either offset.
    select ((days.day at time zone 'UTC')::date + window_start - offsets.utc_offset) at time zone 'UTC' as moment
    from days cross join (select utc_offset from days union select next_offset from days) as offsets
    union
    -- Clocks change on full quarters of an hour.
    select quarter
    from days cross join lateral
      generate_series(days.day, days.day + interval '24 hours', interval '15 minutes') as quarter
    where days.utc_offset <> days.next_offset
  )
  select min(moment) from moments
  where moment > at
    and souk_in_window(moment, window_start, window_end, zone)
    and not souk_in_window(moment - interval '1 millisecond', window_start, window_end, zone)
$$;

-- The offset of a zone's local time from UTC.
create or replace function souk_utc_offset(at timestamptz, zone text) returns interval
language sql stable as $$ select (at at time zone zone) - (at at time zone 'UTC') $$;

-- The number of whole months from one instant to a later one, by the UTC calendar.
create or replace function souk_months_between(first timestamptz, later timestamptz) returns integer
language sql immutable as $$
  select months - case when souk_months_after(first, months) > later then 1 else 0 end
  from (
    select ((extract(year from later at time zone 'UTC') - extract(year from first at time zone 'UTC')) * 12
      + extract(month from later at time zone 'UTC') - extract(month from first at time zone 'UTC'))::integer as months
  ) as distance
$$;

-- The same day and time some months later in UTC, on the last day of a month without that day.
create or replace function souk_months_after(first timestamptz, months integer) returns timestamptz
language sql immutable as $$
  select (first at time zone 'UTC' + make_interval(months => months)) at time zone 'UTC'
$$;

-- The monthly window of a subscription at an instant. A subscription of N months has N windows: window k starts k months
-- after the subscription, and the last one ends with it. If `months` is set, it is the number of windows. A window that is
-- open stays open until its end, even for a process whose time is behind.
create or replace function souk_month(s subscriptions, at timestamptz)
returns table (month_start timestamptz, month_end timestamptz) language sql stable as $$
  select
    case when at < s.month_end then s.month_start else souk_months_after(first, k) end,
    case when k = last_k then s.ends_at when at < s.month_end then s.month_end else souk_months_after(first, k + 1) end
  from (
    select first, last_k, least(souk_months_between(first, at), last_k) as k
    from (
      select s.starts_at as first,
        coalesce(s.months - 1, souk_months_between(s.starts_at, s.ends_at - interval '1 microsecond')) as last_k
    ) as subscription
  ) as present
$$;
