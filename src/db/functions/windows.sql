-- Whether an instant lies in the daily window [window_start, window_end) of a time zone. A window whose end is not
-- after its start crosses midnight. The wall clock decides, so the window keeps its hours across daylight-saving changes.
create or replace function souk_in_window(at timestamptz, window_start time, window_end time, zone text)
returns boolean language sql stable as $$
  select case
    when window_start < window_end
      then (at at time zone zone)::time >= window_start and (at at time zone zone)::time < window_end
    else (at at time zone zone)::time >= window_start or (at at time zone zone)::time < window_end
  end
$$;

-- The first opening of the daily window after an instant.
create or replace function souk_next_window_start(at timestamptz, window_start time, zone text)
returns timestamptz language sql stable as $$
  select min(opening)
  from (
    select ((at at time zone zone)::date + days + window_start) at time zone zone as opening
    from generate_series(0, 2) as days
  ) as openings
  where opening > at
$$;

-- The start of the month an instant lies in, where months begin on the subscription's start day at 00:00 UTC (on the
-- last day of months that are too short for it). month_offset 1 gives the start of the month after.
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
