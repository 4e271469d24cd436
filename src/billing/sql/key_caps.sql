-- The units that a key with a cap has used in the day or month of an instant: reserved and charged, without returned ones.
create or replace function souk_key_use(key bigint, of_period text, at timestamptz) returns bigint
language sql stable as $$
  select coalesce((
    select p.units from key_periods p
    where p.key_id = key and p.period = of_period and p.starts_at = date_trunc(of_period, at, 'UTC')), 0)
$$;

-- The end of the day or month of an instant, by the UTC calendar.
create or replace function souk_period_end(of_period text, at timestamptz) returns timestamptz
language sql immutable as $$
  select (date_trunc(of_period, at at time zone 'UTC') + ('1 ' || of_period)::interval) at time zone 'UTC'
$$;

-- Adds admitted units to the day and month of their keys. `units` has them by the id of the key. The caller holds the locks of
-- the accounts, as do the callers of the functions below.
create or replace function souk_count_key_units(units jsonb, at timestamptz) returns void language sql as $$
  insert into key_periods as p (key_id, period, starts_at, units)
  select k.key::bigint, v.period, date_trunc(v.period, at, 'UTC'), k.value::bigint
  from jsonb_each_text(units) as k cross join (values ('day'), ('month')) as v (period)
  on conflict (key_id, period, starts_at) do update set units = p.units + excluded.units
$$;

-- Returns units that calls had reserved or paid to the day and month in which the calls were accepted. A key that never had a
-- cap has no rows.
create or replace function souk_return_to_keys(returned souk_key_return[]) returns void language sql as $$
  update key_periods p set units = p.units - r.units
  from (
    select r.key_id, v.period, date_trunc(v.period, r.accepted_at, 'UTC') as starts_at, sum(r.units) as units
    from unnest(returned) as r cross join (values ('day'), ('month')) as v (period)
    group by 1, 2, 3
  ) as r
  where p.key_id = r.key_id and p.period = r.period and p.starts_at = r.starts_at
$$;

-- Counts what a key has used in the present day and month, when it gets a cap.
create or replace function souk_recount_key(account bigint, key bigint, at timestamptz) returns void language sql as $$
  insert into key_periods (key_id, period, starts_at, units)
  select key, v.period, v.starts_at,
    coalesce((
      select sum(u.units) from usage_days u
      where u.account_id = account and u.key_id = key
        -- The index starts with the day: each day is a look-up.
        and u.day = any(array(
          select (v.starts_at at time zone 'UTC')::date + n
          from generate_series(0, (at at time zone 'UTC')::date - (v.starts_at at time zone 'UTC')::date) as n))), 0)
    + coalesce((
      select sum(o.units_reserved) from open_calls o
      where o.account_id = account and o.key_id = key and o.accepted_at >= v.starts_at), 0)
  from (
    select p.period, date_trunc(p.period, at, 'UTC') as starts_at from (values ('day'), ('month')) as p (period)
  ) as v
  on conflict (key_id, period, starts_at) do update set units = excluded.units
$$;
