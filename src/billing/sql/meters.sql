-- Returns why an account has no units for a call where no subscription is open, and packs that are open are used up: its units are
-- for another time of day, its packs are used up, or it has none. reset_at is the time at which its first source opens next, unless
-- that source ends before.
create or replace function souk_nothing_to_draw_on(
  account bigint, at timestamptz, window_start time, window_end time, zone text
)
returns table (reason text, wallet wallet, source source_kind, reset_at timestamptz) language sql stable as $$
  with valid as (
    select k.wallet, k.valid_until as ends_at,
      k.wallet = 'off_peak' and k.remaining_units > 0 and not souk_in_window(at, k.opens, k.closes, k.zone) as is_later,
      souk_next_window_start(at, k.opens, k.closes, k.zone) as opening
    from (
      select k.*, coalesce(k.window_start, souk_nothing_to_draw_on.window_start) as opens,
        coalesce(k.window_end, souk_nothing_to_draw_on.window_end) as closes,
        coalesce(k.window_timezone, souk_nothing_to_draw_on.zone) as zone
      from packs k where k.account_id = account and k.valid_from <= at and k.valid_until > at
    ) as k
  ),
  later as (
    select ends_at, opening from valid where is_later
    union all
    select s.ends_at, souk_next_window_start(at, window_start, window_end, zone) from subscriptions s
    where s.account_id = account and s.wallet = 'off_peak' and s.starts_at <= at and s.ends_at > at
  )
  select
    case when is_later then 'QUOTA_OFF_PEAK_ONLY' when used is not null then 'QUOTA_PACK_EXHAUSTED' else 'QUOTA_NO_SUBSCRIPTION' end,
    case when is_later then 'off_peak' else used end,
    case when not is_later and used is not null then 'pack'::source_kind end,
    case when is_later then (select min(opening) from later where opening < ends_at) end
  from (select exists (select from later) as is_later, (select min(wallet) from valid) as used) as found
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
