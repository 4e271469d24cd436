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

-- The start of the month that contains an instant, if months start on the subscription's start day at 00:00 UTC (on
-- the last day of shorter months). month_offset 1 returns the start of the next month.
create or replace function souk_month_start(subscribed_at timestamptz, at timestamptz, month_offset integer)
returns timestamptz language sql immutable as $$
  select (first_day + make_interval(months => months + month_offset
    - case when first_day + make_interval(months => months) > now_utc then 1 else 0 end)) at time zone 'UTC'
  from (
    select
      date_trunc('day', subscribed_at at time zone 'UTC') as first_day,
      at at time zone 'UTC' as now_utc
  ) as utc
  cross join lateral (
    select ((extract(year from now_utc) - extract(year from first_day)) * 12
      + extract(month from now_utc) - extract(month from first_day))::integer as months
  ) as distance
$$;
