-- Admits a batch of calls in one round trip: finds the keys, joins identical calls that are open or were accepted
-- within the deduplication window, checks limits, draws units, and records calls and ledger lines. The rows of the
-- accounts are locked, and the calls are judged one after the other. Outcomes: key_unknown, key_revoked, account_unavailable,
-- key_changed (the limits of the key are not those that the caller has checked), locked, joined, admitted, refused (with reason).
--
-- `asked` has the fields of souk_asked_call for each call. With `dry`, the function returns what it would do with each
-- call alone, and changes nothing.
--
-- A call of an account that another transaction has locked has the outcome `locked` and changes nothing, so that it delays no
-- other account. After `not_after` by this server's clock the function fails, because its caller has given up. While admission is
-- closed it fails with SK503.
create or replace function souk_admit_calls(
  at timestamptz, dedup_seconds integer, window_start time, window_end time, zone text,
  not_after timestamptz, dry boolean, asked jsonb
)
returns setof souk_admission language plpgsql
set enable_seqscan to off
set enable_hashjoin to off
set enable_mergejoin to off
-- Planning for the very calls of a small batch takes three times as long as the rest.
set plan_cache_mode to force_generic_plan
as $$
#variable_conflict use_column
declare
  calls constant souk_asked_call[] := array(select c from jsonb_populate_recordset(null::souk_asked_call, asked) as c);
  concerned constant bigint[] := array(select distinct c.account_id from unnest(calls) as c);
  held bigint[] := '{}';      -- accounts that are locked now
  sources souk_source[];      -- of all accounts, in the order of the calls
  first integer := 1;         -- the sources of the present account are sources[first..last]
  last integer := 0;
  first_pack integer;         -- packs share the minute of the first one
  result souk_admission;
  r record;                   -- the present call
  account bigint;             -- its account
  source souk_source;
  i integer;
  bucket integer;             -- index of the source whose minute_left counts for source i
  emptied boolean;            -- whether the present call took the last unit of a pack
  need bigint;
  take bigint;
  total bigint;
  blocked integer;            -- the first source that has units but no call left in its minute
  drawn souk_draw[];          -- by the present call
  drawn_from integer[];       -- indices into sources
  pack_drawn boolean;
  key_left bigint;            -- units that the key of the present call may still use; null: it has no cap
  key_units jsonb := '{}';    -- units that this batch has admitted for each key with a cap
  new_call souk_new_call;     -- the last admitted call
  new_calls souk_new_call[] := '{}';
  new_draws souk_draw[] := '{}';
  has_started boolean := false;
  has_answered boolean := false;
begin
  if clock_timestamp() > not_after then perform souk_refuse_after(not_after); end if;
  if (select closed_at from admission_state) is not null then
    raise exception 'admission is closed' using errcode = 'SK503';
  end if;
  if not dry then
    held := array(select a.id from accounts a where a.id = any(concerned) order by a.id for no key update skip locked);
  end if;
  sources := array(
    select s from souk_sources(concerned, at, window_start, window_end, zone) as s
    order by s.account_id, s.wallet desc, s.source, s.ends_at, s.source_id);

  for r in
    select q.*, souk_claim_key(q.account_id, q.charge_id) as claim_key,
      case when k.purpose = 'customer' then k.id end as key_id, k.cap_day is not null or k.cap_month is not null as is_capped,
      case when k.cap_day is not null then k.cap_day - souk_key_use(k.id, 'day', at) end as day_left,
      case when k.cap_month is not null then k.cap_month - souk_key_use(k.id, 'month', at) end as month_left,
      coalesce(o.id, case when d.is_recent then d.call_id end, e.id) as joined_id,
      case when o.id is not null then 'reserved' when d.is_recent then 'settled' else e.state end as joined_state,
      case when o.id is not null then null when d.is_recent then d.answer else e.answer end as joined_answer,
      coalesce(o.background, case when d.is_recent then d.background else e.background end) as joined_background,
      case
        when a.id is null or q.key_hash is not null and (k.account_id is distinct from q.account_id) then 'key_unknown'
        when q.key_hash is not null and (k.revoked_at is not null or k.expires_at <= at) then 'key_revoked'
        when a.state <> 'active' then 'account_unavailable'
        when q.key_hash is not null and k.version <> q.key_version then 'key_changed'
        when dry then null
        when q.account_id <> all(held) then 'locked'
        when o.id is not null or d.is_recent or e.id is not null then 'joined'
      end as outcome
    from unnest(calls) with ordinality as q
    left join accounts a on a.id = q.account_id
    left join api_keys k on k.hash = coalesce(q.key_hash, q.batch_key_hash)
    left join lateral (
      select o.id, o.background from open_calls o where o.claim_key = souk_claim_key(q.account_id, q.charge_id) limit 1
    ) as o on true
    left join lateral (
      select d.*, d.accepted_at > at - make_interval(secs => dedup_seconds) and d.call_id is distinct from q.continues as is_recent
      from call_claims d where d.claim_key = souk_claim_key(q.account_id, q.charge_id)
    ) as d on true
    -- A batch repeats an admission whose reply it has lost, and the call may have ended meanwhile. With a limit, the condition
    -- is checked before the function is called.
    left join lateral (
      select e.* from souk_finished_call(q.account_id, q.call_id) as e where q.background limit 1
    ) as e on true
    order by q.account_id, claim_key, q.ordinality
  loop
    result := null;
    result.idx := r.ordinality; result.account_id := r.account_id; result.outcome := r.outcome;
    if r.outcome = 'joined' then
      result.call_id := r.joined_id; result.joined_state := r.joined_state;
      result.joined_answer := r.joined_answer; result.joined_background := r.joined_background;
    elsif r.outcome is null and new_call.claim_key = r.claim_key then
      result.outcome := 'joined'; result.call_id := new_call.id; result.joined_answer := new_call.answer;
      result.joined_state := case when new_call.answer is null then 'reserved' else 'settled' end;
      result.joined_background := new_call.background;
    end if;
    if result.outcome is not null then return next result; continue; end if;

    if account is distinct from r.account_id then
      account := r.account_id;
      first := last + 1;
      while sources[first].account_id < account loop first := first + 1; end loop;
      last := first - 1; first_pack := null;
      while sources[last + 1].account_id = account loop
        last := last + 1;
        if sources[last].source = 'pack' then first_pack := coalesce(first_pack, last); end if;
      end loop;
    end if;

    if r.is_capped then
      key_left := least(r.day_left, r.month_left) - coalesce((key_units ->> r.key_id::text)::bigint, 0);
      if r.units > greatest(key_left, 0) then
        result.outcome := 'refused'; result.remaining := greatest(key_left, 0);
        result.reason := 'KEY_CAP_OF_DAY'; result.reset_at := souk_period_end('day', at);
        if r.units > r.month_left - coalesce((key_units ->> r.key_id::text)::bigint, 0) then
          result.reason := 'KEY_CAP_OF_MONTH'; result.reset_at := souk_period_end('month', at);
        end if;
        return next result; continue;
      end if;
    end if;

    need := r.units; total := 0; blocked := null; drawn := '{}'; drawn_from := '{}'; pack_drawn := false;
    for i in first..last loop
      exit when need = 0;
      source := sources[i];
      continue when source.available = 0;
      total := total + least(source.available, need + r.units);
      bucket := case when source.source = 'pack' then first_pack else i end;
      if sources[bucket].minute_left <= 0 then
        blocked := coalesce(blocked, i);
        continue;
      end if;
      take := least(need, source.available);
      need := need - take;
      drawn_from := drawn_from || i;
      drawn := drawn || row(account, r.call_id, case when r.answer is null then 'reserve' else 'charge' end::ledger_kind,
        source.source, source.source_id, take,
        -- A call that draws on two packs counts once in the minute that packs share.
        case when source.source = 'pack' and pack_drawn then 0 else 1 end,
        sources[bucket].minute_start, source.day_start, source.month_start, source.month_end)::souk_draw;
      pack_drawn := pack_drawn or source.source = 'pack';
    end loop;

    if need > 0 then
      result.outcome := 'refused'; result.remaining := total;
      if last >= first then
        i := coalesce(blocked, first); bucket := case when sources[i].source = 'pack' then first_pack else i end;
        result.minute_limit := sources[bucket].minute_limit;
        result.minute_left := greatest(sources[bucket].minute_left, 0);
      end if;
      if blocked is not null and total >= r.units then
        result.reason := 'QUOTA_MINUTE_EXCEEDED'; result.remaining := 0;
        result.wallet := sources[blocked].wallet; result.source := sources[blocked].source;
        result.reset_at := sources[blocked].minute_start + interval '1 minute';
      else
        -- A subscription has units again at a time, and a pack that is used up never has.
        i := first;
        while total = 0 and i <= last and sources[i].source = 'pack' loop i := i + 1; end loop;
        if i <= last then
          result.reason := case when total > 0 then 'QUOTA_INSUFFICIENT_UNITS' else sources[i].reason end;
          result.wallet := sources[i].wallet; result.source := sources[i].source;
          result.reset_at := case sources[i].reason
            when 'QUOTA_MONTHLY_EXCEEDED' then (
              select m.month_end from subscriptions s cross join lateral souk_month(s, at) as m where s.id = sources[i].source_id)
            else sources[i].day_start + interval '24 hours'
          end;
        else
          select n.reason, n.wallet, n.source, n.reset_at into result.reason, result.wallet, result.source, result.reset_at
          from souk_nothing_to_draw_on(account, at, window_start, window_end, zone) as n;
        end if;
      end if;
      return next result; continue;
    end if;

    i := drawn_from[1]; bucket := case when sources[i].source = 'pack' then first_pack else i end;
    source := sources[bucket];
    result.outcome := 'admitted';
    result.wallet := sources[i].wallet; result.source := source.source;
    if source.minute_limit is not null then
      result.minute_limit := source.minute_limit; result.minute_left := source.minute_left - 1;
      result.reset_at := source.minute_start + interval '1 minute';
    end if;
    return next result;
    continue when dry;
    if r.is_capped then
      key_units := key_units || jsonb_build_object(
        r.key_id, coalesce((key_units ->> r.key_id::text)::bigint, 0) + r.units);
    end if;

    emptied := false;
    for i in 1..cardinality(drawn) loop
      bucket := case when drawn[i].source = 'pack' then first_pack else drawn_from[i] end;
      sources[drawn_from[i]].available := sources[drawn_from[i]].available - drawn[i].units;
      sources[bucket].minute_left := sources[bucket].minute_left - drawn[i].calls;
      emptied := emptied or (drawn[i].source = 'pack' and sources[drawn_from[i]].available = 0);
      new_draws := new_draws || drawn[i];
    end loop;
    if emptied then
      -- An empty pack no longer contributes its rate: the limit of the next call is the maximum of the packs with
      -- units.
      select max(k.rate_limit_per_minute) into i from packs k
      where k.account_id = account and k.valid_from <= at and k.valid_until > at and k.remaining_units > 0
        and not exists (
          select 1 from unnest(sources) as f where f.source = 'pack' and f.source_id = k.id and f.available = 0);
      sources[first_pack].minute_left := sources[first_pack].minute_left - sources[first_pack].minute_limit + i;
      sources[first_pack].minute_limit := i;
    end if;
    new_call := row(account, r.call_id, r.operation, r.claim_key, r.pool, r.units, r.deadline_at, r.input, r.answer,
      r.background, r.key_id, r.units_paid, drawn)::souk_new_call;
    new_calls := new_calls || new_call;
    has_started := has_started or r.answer is null;
    has_answered := has_answered or r.answer is not null;
  end loop;

  if has_started then
    insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at, input,
      background, key_id, units_paid, draws)
    select c.account_id, c.id, c.operation, c.claim_key, c.pool, c.units, at, c.deadline_at, c.input,
      c.background, c.key_id, c.units_paid, c.draws
    from unnest(new_calls) as c where c.answer is null;
  end if;
  if has_answered then
    with finished as (
      insert into finished_calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
        accepted_at, deadline_at, finished_at, attempts, answer, background, key_id, units_paid)
      select c.account_id, c.id, c.operation, c.claim_key, 'settled', c.pool, c.units, c.units, at, c.deadline_at, at, 0,
        c.answer, c.background, c.key_id, nullif(c.units_paid, 0)
      from unnest(new_calls) as c where c.answer is not null
    ),
    claims as (
      insert into call_claims (claim_key, call_id, accepted_at, answer, background)
      select c.claim_key, c.id, at, c.answer, c.background from unnest(new_calls) as c where c.answer is not null
      on conflict (claim_key) do update set call_id = excluded.call_id, accepted_at = excluded.accepted_at,
        answer = excluded.answer, background = excluded.background
    )
    insert into usage_days as d (account_id, day, operation, key_id, calls, units)
    select c.account_id, (at at time zone 'UTC')::date, c.operation, coalesce(c.key_id, 0), count(*), sum(c.units)
    from unnest(new_calls) as c where c.answer is not null
    group by c.account_id, c.operation, c.key_id
    on conflict (account_id, day, operation, key_id)
      do update set calls = d.calls + excluded.calls, units = d.units + excluded.units;
  end if;
  if has_started or has_answered then
    insert into ledger (account_id, at, kind, source, source_id, call_id, units)
    select d.account_id, at, d.kind, d.source, d.source_id, d.call_id, d.units from unnest(new_draws) as d;
    perform souk_move_meters(new_draws);
    if key_units <> '{}' then perform souk_count_key_units(key_units, at); end if;
  end if;
  if clock_timestamp() > not_after then perform souk_refuse_after(not_after); end if;
end
$$;

-- The account is part of the key rather than a separate column, so that only one index fits the query for an
-- identical call of the account. A plan that was made while the table was empty then stays good.
create or replace function souk_claim_key(account bigint, charge_id bytea) returns bytea
language sql immutable parallel safe as $$ select charge_id || int8send(account) $$;

-- Fails after `not_after`, with the error of a statement_timeout.
create or replace function souk_refuse_after(not_after timestamptz) returns void language plpgsql as $$
begin
  if clock_timestamp() > not_after then
    raise exception 'the time of this statement is over' using errcode = 'query_canceled';
  end if;
end
$$;
