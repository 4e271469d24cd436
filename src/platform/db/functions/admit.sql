-- Admits a batch of calls in one round trip: finds the keys, joins identical calls that are open or were accepted
-- within the deduplication window, checks limits, draws units, and records calls and ledger lines. The rows of the
-- accounts are locked, so the outcome is the same as for one call after the other. Outcomes: key_unknown, key_revoked,
-- account_unavailable, key_changed, locked, joined, admitted, refused (with reason). Nearly
-- every account is simple: its first source is a subscription that covers all calls of the batch, and no key has a cap, so their
-- order does not matter and a few set operations admit the whole batch. souk_admit_each admits the calls of the other
-- accounts one by one. It takes about ten times as long per call, and has the same outcome for simple accounts.
--
-- Each field of the calls is an array, in the order of the calls; an empty array has null for each of them. `callers` has the
-- accounts; null: that of the key. A call of a batch (`of_batches`) may have a key too: the key to count the call for, which may
-- have been revoked since. A call with an answer is settled at once; a dry one changes nothing.
--
-- With `not_after`, a call of an account that another transaction has locked has the outcome `locked` and changes
-- nothing, so that it delays no other account; and after that time of this server's clock the function fails, because
-- its caller has given up. Without `not_after`, the function waits for the locks.
create or replace function souk_admit_calls(
  at timestamptz, dedup_seconds integer, window_start time, window_end time, zone text,
  not_after timestamptz,
  call_ids uuid[], callers bigint[], key_hashes bytea[], key_versions integer[], charge_ids bytea[], operations text[],
  prices integer[], pools text[], deadlines timestamptz[], inputs jsonb[], answers text[],
  of_batches boolean[], backgrounds boolean[], drys boolean[], continued uuid[], paid integer[]
)
returns setof souk_admission language plpgsql
set enable_seqscan to off
set enable_hashjoin to off
set enable_mergejoin to off
-- A plan for the very arrays of a small batch looks cheaper, and planning takes three times as long as the rest.
set plan_cache_mode to force_generic_plan
as $$
declare
  this_minute constant timestamptz := date_trunc('minute', at, 'UTC');
  this_day constant timestamptz := date_trunc('day', at, 'UTC');
  today constant date := (at at time zone 'UTC')::date;
  off_peak constant boolean := souk_in_window(at, window_start, window_end, zone);
  positions constant integer[] := array(select generate_series(1, cardinality(call_ids)));
  concerned bigint[];         -- accounts to lock
  held bigint[];              -- those that are locked now
  unknown bigint[];
  inactive bigint[];
  locked bigint[];            -- by other transactions
  judged souk_judged_call[];
  not_simple integer[];
  has_started boolean;
  has_answered boolean;
begin
  if clock_timestamp() > not_after then perform souk_refuse_after(not_after); end if;
  if callers = '{}' or array_position(callers, null) is not null then
    callers := array(
      select coalesce(q.account_id, k.account_id)
      from unnest(callers, key_hashes) with ordinality as q (account_id, key_hash, idx)
      left join api_keys k on k.hash = q.key_hash order by q.idx);
  end if;
  concerned := callers;
  if cardinality(drys) > 0 then
    concerned := array(select q.account_id from unnest(callers, drys) as q (account_id, dry) where q.dry is not true);
  end if;
  if not_after is null then
    select array_agg(a.id), array_agg(a.id) filter (where a.state <> 'active') into held, inactive
    from (select a.id, a.state from accounts a where a.id = any(concerned) order by a.id for no key update) as a;
  else
    select array_agg(a.id), array_agg(a.id) filter (where a.state <> 'active') into held, inactive
    from (
      select a.id, a.state from accounts a where a.id = any(concerned) order by a.id for no key update skip locked
    ) as a;
  end if;
  if cardinality(held) is distinct from cardinality(callers)
    and coalesce(cardinality(held), 0) < (select count(distinct c) from unnest(callers) as c)
  then
    unknown := array(select c from unnest(callers) as c where not exists (select from accounts a where a.id = c));
    inactive := array(select a.id from accounts a where a.id = any(callers) and a.state <> 'active');
    locked := array(select c from unnest(concerned) as c where c <> all(coalesce(held, '{}')));
  end if;

  select array_agg(row(j.*)::souk_judged_call), array_agg(j.idx) filter (where j.outcome is null and not j.simple),
    bool_or(j.simple and answers[j.idx] is null), bool_or(j.simple and answers[j.idx] is not null)
  into judged, not_simple, has_started, has_answered
  from (
    select q.idx, q.account_id, q.claim_key, q.outcome, q.open_id, q.open_state, q.open_answer, q.open_background,
      q.has_claim, q.key_id, s.id as source_id, s.wallet, s.month_start, s.minute_limit,
      -- Number of calls that are left after this one. Joined and dry calls do not count; they come last.
      s.minute_left - dense_rank() over account as minute_left,
      -- Includes calls that will join. If that makes an account exceed a limit, its calls take the general path,
      -- with the same outcome. So does a call that repeats one of this batch, and joins it there.
      q.outcome is null and s.id is not null
        and lag(q.claim_key) over turn is distinct from q.claim_key
        and coalesce(sum(prices[q.idx]) over account <= s.available, true)
        and coalesce(count(*) over account <= s.minute_left, true)
        and bool_or(q.is_capped) over account is not true as simple
    from souk_read_calls(chosen => positions, at => at, dedup_seconds => dedup_seconds, call_ids => call_ids,
      callers => callers, key_hashes => key_hashes, key_versions => key_versions, charge_ids => charge_ids,
      of_batches => of_batches, backgrounds => backgrounds, drys => drys, continued => continued,
      unknown => unknown, inactive => inactive, locked => locked) as q
    -- The first source, if it is a subscription whose present month is already known.
    left join lateral (
      select s.id, s.wallet, s.minute_start, s.day_start, s.month_start, s.month_end,
        p.minute_limit * s.quantity as minute_limit,
        p.minute_limit * s.quantity - case when s.minute_start = this_minute then s.minute_used else 0 end as minute_left,
        least(
          p.daily_limit * s.quantity - case when s.day_start = this_day then s.day_used else 0 end,
          p.monthly_limit * s.quantity - s.month_used
        ) as available
      from (
        select * from subscriptions s
        where s.account_id = q.account_id and s.starts_at <= at and s.ends_at > at and (s.wallet = 'general' or off_peak)
        order by s.wallet desc limit 1
      ) as s join plans p on p.id = s.plan_id
    ) as s on not q.dry and s.minute_start <= this_minute and s.day_start <= this_day and s.month_end > at
      and (s.wallet = 'off_peak' or (
        select true from packs o
        where o.account_id = q.account_id and o.wallet = 'off_peak' and o.valid_until > at limit 1) is null)
    window account as (
      partition by q.account_id order by q.outcome is null and not q.dry desc, q.claim_key
      rows between unbounded preceding and unbounded following),
      -- Of calls that repeat each other, the first is admitted.
      turn as (
        partition by q.account_id order by q.outcome is null and not q.dry desc, q.claim_key, q.idx)
  ) as j;

  if has_started then
    insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at, input,
      background, key_id, units_paid, draws)
    select j.account_id, call_ids[j.idx], operations[j.idx], j.claim_key, pools[j.idx], prices[j.idx], at,
      deadlines[j.idx], inputs[j.idx], coalesce(backgrounds[j.idx], false), j.key_id,
      coalesce(paid[j.idx], 0),
      jsonb_build_array(jsonb_build_object(
        'account_id', j.account_id, 'call_id', call_ids[j.idx], 'source', 'subscription', 'source_id', j.source_id,
        'units', prices[j.idx], 'day_start', this_day, 'month_start', j.month_start))
    from unnest(judged) as j where j.simple and answers[j.idx] is null;
  end if;
  if has_answered then
    with new_finished as (
      insert into finished_calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
        accepted_at, deadline_at, finished_at, attempts, answer, background, key_id)
      select j.account_id, call_ids[j.idx], operations[j.idx], j.claim_key, 'settled', pools[j.idx], prices[j.idx],
        prices[j.idx], at, deadlines[j.idx], at, 0, answers[j.idx], coalesce(backgrounds[j.idx], false), j.key_id
      from unnest(judged) as j where j.simple and answers[j.idx] is not null
    ),
    -- A claim belongs to an account, which is locked. So a new claim has no conflict, and needs no second look into the index.
    new_claims as (
      insert into call_claims (claim_key, call_id, accepted_at, answer, background)
      select j.claim_key, call_ids[j.idx], at, answers[j.idx], coalesce(backgrounds[j.idx], false)
      from unnest(judged) as j where j.simple and answers[j.idx] is not null and not j.has_claim
    ),
    -- An old claim may be deleted at any time.
    later_claims as (
      insert into call_claims (claim_key, call_id, accepted_at, answer, background)
      select j.claim_key, call_ids[j.idx], at, answers[j.idx], coalesce(backgrounds[j.idx], false)
      from unnest(judged) as j where j.simple and answers[j.idx] is not null and j.has_claim
      on conflict (claim_key) do update set call_id = excluded.call_id, accepted_at = excluded.accepted_at,
        answer = excluded.answer, background = excluded.background
    )
    insert into usage_days as d (account_id, day, operation, key_id, calls, units)
    select j.account_id, today, operations[j.idx], coalesce(j.key_id, 0), count(*), sum(prices[j.idx])
    from unnest(judged) as j where j.simple and answers[j.idx] is not null
    group by j.account_id, operations[j.idx], j.key_id
    on conflict (account_id, day, operation, key_id)
      do update set calls = d.calls + excluded.calls, units = d.units + excluded.units;
  end if;
  if has_started or has_answered then
    with new_lines as (
      insert into ledger (account_id, at, kind, source, source_id, call_id, units)
      select j.account_id, at, case when answers[j.idx] is null then 'reserve' else 'charge' end::ledger_kind,
        'subscription', j.source_id, call_ids[j.idx], prices[j.idx]
      from unnest(judged) as j where j.simple
    )
    update subscriptions s set
      minute_used = case when s.minute_start = this_minute then s.minute_used else 0 end + u.calls,
      minute_start = this_minute,
      day_used = case when s.day_start = this_day then s.day_used else 0 end + u.units,
      day_start = this_day,
      month_used = s.month_used + u.units
    from (
      select j.source_id, sum(prices[j.idx]) as units, count(*)::integer as calls
      from unnest(judged) as j where j.simple group by j.source_id
    ) as u
    where s.id = u.source_id;
  end if;

  return query
    select j.idx, case when j.simple then 'admitted' else j.outcome end, j.account_id,
      case when j.simple then call_ids[j.idx] else j.open_id end, j.open_state, j.open_answer,
      j.wallet, 'subscription'::source_kind, null::text, null::bigint,
      this_minute + interval '1 minute', j.minute_limit, j.minute_left, j.open_background
    from unnest(judged) as j where j.simple or j.outcome is not null;
  if not_simple is not null then
    return query
      select * from souk_admit_each(not_simple, at, dedup_seconds, window_start, window_end, zone,
        call_ids, callers, key_hashes, key_versions, charge_ids, operations, prices, pools, deadlines, inputs, answers,
        of_batches, backgrounds, drys, continued, paid, unknown, inactive, locked);
  end if;
  if clock_timestamp() > not_after then perform souk_refuse_after(not_after); end if;
end
$$;

-- Fails after `not_after`, with the error of a statement_timeout.
create or replace function souk_refuse_after(not_after timestamptz) returns void language plpgsql as $$
begin
  if clock_timestamp() > not_after then
    raise exception 'the time of this statement is over' using errcode = 'query_canceled';
  end if;
end
$$;
