-- Returns why an account has no source for a call: its units are for another time of day, or it has none. reset_at is
-- the time at which its first source opens next, unless that source ends before.
create or replace function souk_nothing_to_draw_on(
  account bigint, at timestamptz, window_start time, window_end time, zone text
)
returns table (reason text, wallet wallet, reset_at timestamptz) language sql stable as $$
  select
    case when count(*) = 0 then 'QUOTA_NO_SUBSCRIPTION' else 'QUOTA_OFF_PEAK_ONLY' end,
    case when count(*) > 0 then 'off_peak'::wallet end,
    min(opening) filter (where opening < ends_at)
  from (
    select s.ends_at, souk_next_window_start(at, window_start, window_end, zone) as opening
    from subscriptions s
    where s.account_id = account and s.wallet = 'off_peak' and s.starts_at <= at and s.ends_at > at
    union all
    select k.valid_until, souk_next_window_start(at, coalesce(k.window_start, souk_nothing_to_draw_on.window_start),
      coalesce(k.window_end, souk_nothing_to_draw_on.window_end), coalesce(k.window_timezone, zone))
    from packs k
    where k.account_id = account and k.wallet = 'off_peak' and k.valid_from <= at and k.valid_until > at
      and k.remaining_units > 0
  ) as sources
$$;

-- Adds the units and calls of draws to the meters of their sources. The caller holds the locks of all accounts
-- concerned.
create or replace function souk_move_meters(draws souk_draw[]) returns void language plpgsql as $$
begin
  update subscriptions s set
    minute_used = case when s.minute_start = u.minute_start then s.minute_used else 0 end + u.calls,
    minute_start = u.minute_start,
    day_used = case when s.day_start = u.day_start then s.day_used else 0 end + u.units,
    day_start = u.day_start,
    month_used = case when s.month_start = u.month_start then s.month_used else 0 end + u.units,
    month_start = u.month_start,
    month_end = u.month_end
  from (
    select d.source_id, sum(d.units) as units, sum(d.calls)::integer as calls,
      max(d.minute_start) as minute_start, max(d.day_start) as day_start, max(d.month_start) as month_start,
      max(d.month_end) as month_end
    from unnest(draws) as d where d.source = 'subscription' group by d.source_id
  ) as u
  where s.id = u.source_id;

  if exists (select 1 from unnest(draws) as d where d.source = 'pack') then
    update packs k set remaining_units = k.remaining_units - u.units
    from (
      select d.source_id, sum(d.units) as units
      from unnest(draws) as d where d.source = 'pack' group by d.source_id
    ) as u
    where k.id = u.source_id;

    update accounts a set
      pack_minute_used = case when a.pack_minute_start = u.minute_start then a.pack_minute_used else 0 end + u.calls,
      pack_minute_start = u.minute_start
    from (
      select d.account_id, sum(d.calls)::integer as calls, max(d.minute_start) as minute_start
      from unnest(draws) as d where d.source = 'pack' group by d.account_id
    ) as u
    where a.id = u.account_id;
  end if;
end
$$;

-- Returns units that calls had drawn but did not use. Units drawn in an earlier day or month are not returned to
-- the present one.
create or replace function souk_return_to_meters(draws souk_draw[]) returns void language plpgsql as $$
begin
  update subscriptions s set
    day_used = s.day_used - u.day_units,
    month_used = s.month_used - u.month_units
  from (
    select d.source_id,
      coalesce(sum(d.units) filter (where d.day_start = m.day_start), 0) as day_units,
      coalesce(sum(d.units) filter (where d.month_start = m.month_start), 0) as month_units
    from unnest(draws) as d
    join subscriptions m on m.id = d.source_id
    where d.source = 'subscription' group by d.source_id
  ) as u
  where s.id = u.source_id;

  update packs k set remaining_units = k.remaining_units + u.units
  from (
    select d.source_id, sum(d.units) as units
    from unnest(draws) as d where d.source = 'pack' group by d.source_id
  ) as u
  where k.id = u.source_id;
end
$$;
