-- Reads a batch of calls and finds out what does not depend on units: key, account and identical calls. `calls` is
-- a JSON array of objects with the columns of `q` below as keys; `idx` is the position in it, from 1. `outcome` is
-- null for a call that neither joins another nor is refused because of its key or account. A call has a key, or the
-- account of a batch (caller_id), which may have a key too: the key to count the call for, which may have been revoked
-- since. A call with an answer is settled at once; a dry one changes nothing. A call does not
-- join the settled call that it continues. `key_changed`: the limits of the key are not those that the caller has checked. For
-- a key with a cap, day_left and month_left are the units that it may still use. The outcome of
-- other calls is `locked` if their account is not among `held`, the accounts that the calling function has locked.
drop function if exists souk_read_calls(timestamptz, integer, jsonb);
drop function if exists souk_read_calls(timestamptz, integer, jsonb, bigint[]);
create or replace function souk_read_calls(at timestamptz, dedup_seconds integer, calls jsonb, held bigint[])
returns table (
  idx bigint, call_id uuid, operation text, charge_id bytea, units integer, pool text, deadline timestamptz,
  input jsonb, answer text, background boolean, dry boolean,
  account_id bigint, outcome text,
  open_id uuid, open_state call_state, open_answer text, open_background boolean,
  key_id bigint, is_capped boolean, day_left bigint, month_left bigint
)
language sql stable as $$
  select q.idx, q.call_id, q.operation, q.charge_id, q.units, q.pool, q.deadline,
    q.input, q.answer, coalesce(q.background, false), coalesce(q.dry, false), a.id,
    case
      when a.id is null then 'key_unknown'
      when q.caller_id is null and (k.revoked_at is not null or k.expires_at <= at) then 'key_revoked'
      when a.state <> 'active' then 'account_unavailable'
      when q.caller_id is null and k.version <> coalesce(q.key_version, case when q.dry then k.version else 0 end)
        then 'key_changed'
      when q.dry is not true and a.id <> all (held) then 'locked'
      when c.id is not null then 'joined'
    end,
    c.id, c.state, c.answer, c.background,
    case when k.purpose = 'customer' then k.id end, k.cap_day is not null or k.cap_month is not null,
    case when k.cap_day is not null then k.cap_day - souk_key_use(k.id, 'day', at) end,
    case when k.cap_month is not null then k.cap_month - souk_key_use(k.id, 'month', at) end
  from rows from (
    jsonb_to_recordset(calls) as (key_hash bytea, caller_id bigint, call_id uuid, operation text, charge_id bytea,
      units integer, pool text, deadline timestamptz, input jsonb, answer text, background boolean, dry boolean,
      continues uuid, key_version integer)
  ) with ordinality as q (key_hash, caller_id, call_id, operation, charge_id,
      units, pool, deadline, input, answer, background, dry, continues, key_version, idx)
  left join api_keys k on k.hash = q.key_hash
  left join accounts a on a.id = coalesce(q.caller_id, k.account_id)
  left join lateral (
    select o.id, 'reserved'::call_state as state, null::text as answer, o.background from open_calls o
    where o.claim_key = souk_claim_key(a.id, q.charge_id)
    union all
    select k.call_id, 'settled'::call_state, k.answer, k.background from call_claims k
    where k.claim_key = souk_claim_key(a.id, q.charge_id) and k.accepted_at > at - make_interval(secs => dedup_seconds)
      and k.call_id is distinct from q.continues
    union all
    -- A batch repeats an admission whose reply it has lost, and the call may have ended meanwhile.
    select f.id, f.state, f.answer, f.background from souk_finished_call(a.id, q.call_id) as f where q.background
    limit 1
  ) as c on q.dry is not true
$$;

-- Admits a batch of calls in one round trip: finds the keys, joins identical calls that are open or were accepted
-- within the deduplication window, checks limits, draws units, and records calls and ledger lines. The rows of the
-- accounts are locked, so the outcome is the same as for one call after the other. souk_read_calls describes
-- `calls`. Outcomes: key_unknown, key_revoked, account_unavailable, key_changed, locked, joined, admitted, refused (with reason). Nearly
-- every account is simple: its first source is a subscription that covers all calls of the batch, and no key has a cap, so their
-- order does not matter and a few set operations admit the whole batch. souk_admit_each admits the calls of the other
-- accounts one by one. It takes about ten times as long per call, and has the same outcome for simple accounts.
--
-- With `not_after`, a call of an account that another transaction has locked has the outcome `locked` and changes
-- nothing, so that it delays no other account; and after that time of this server's clock the function fails, because
-- its caller has given up. Without `not_after`, the function waits for the locks.
--
-- With `deferred`, the commit does not wait for the disk if all calls are admitted. The caller, whose calls have no answers, tells a
-- customer about them only when a later commit has waited.
drop function if exists souk_admit(timestamptz, integer, time, time, text, jsonb);
create or replace function souk_admit(
  at timestamptz, dedup_seconds integer, window_start time, window_end time, zone text, calls jsonb,
  not_after timestamptz, deferred boolean
)
returns setof souk_admission language plpgsql
set enable_seqscan to off
set enable_hashjoin to off
set enable_mergejoin to off
as $$
declare
  this_minute constant timestamptz := date_trunc('minute', at, 'UTC');
  this_day constant timestamptz := date_trunc('day', at, 'UTC');
  off_peak constant boolean := souk_in_window(at, window_start, window_end, zone);
  result souk_admission;
  not_simple integer[] := '{}';
  concerned constant bigint[] := array(
    select distinct coalesce(q.caller_id, k.account_id)
    from jsonb_to_recordset(calls) as q(key_hash bytea, caller_id bigint, dry boolean)
    left join api_keys k on k.hash = q.key_hash
    where q.dry is not true);
  held bigint[];
begin
  perform souk_refuse_after(not_after);
  if not_after is null then
    perform 1 from accounts a where a.id = any(concerned) order by a.id for no key update;
    held := concerned;
  else
    held := array(select a.id from accounts a where a.id = any(concerned) order by a.id for no key update skip locked);
  end if;

  for result in
    with asked as (
      select q.*,
        s.id as source_id, s.wallet, s.minute_limit, s.month_start,
        s.minute_limit - case when s.minute_start = this_minute then s.minute_used else 0 end as minute_left,
        least(
          s.daily_limit - case when s.day_start = this_day then s.day_used else 0 end,
          s.monthly_limit - s.month_used
        ) as available
      from souk_read_calls(at, dedup_seconds, calls, held) as q
      -- The first source, if it is a subscription whose present month is already known.
      left join lateral (
        select s.*, p.minute_limit * s.quantity as minute_limit, p.daily_limit * s.quantity as daily_limit,
          p.monthly_limit * s.quantity as monthly_limit
        from subscriptions s join plans p on p.id = s.plan_id
        where s.account_id = q.account_id and s.starts_at <= at and s.ends_at > at
          and (s.wallet = 'general' or off_peak)
        order by s.wallet desc limit 1
      ) as s on not q.dry and s.minute_start <= this_minute and s.day_start <= this_day and s.month_end > at
        and (s.wallet = 'off_peak' or (
          select true from packs o
          where o.account_id = q.account_id and o.wallet = 'off_peak' and o.valid_until > at limit 1) is null)
    ),
    numbered as (
      select a.*, lag(a.charge_id) over w = a.charge_id as repeated,
        -- Number of calls in the account's minute, including this one. Joined and dry calls do not count.
        count(*) filter (where a.outcome is null and not a.dry) over (w rows unbounded preceding) as nth
      from asked a
      window w as (partition by a.account_id order by a.charge_id)
    ),
    judged as materialized (
      select n.*,
        -- Includes calls that will join. If that makes an account exceed a limit, its calls take the general path,
        -- with the same outcome.
        n.outcome is null and n.source_id is not null
          and coalesce(sum(n.units) over account <= n.available, true)
          and coalesce(count(*) over account <= n.minute_left, true)
          and bool_or(n.repeated) over account is not true
          and bool_or(n.is_capped) over account is not true as simple
      from numbered n
      window account as (partition by n.account_id)
    ),
    new_open as (
      insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at, input,
        background, key_id, draws)
      select j.account_id, j.call_id, j.operation, souk_claim_key(j.account_id, j.charge_id), j.pool, j.units, at,
        j.deadline, j.input, j.background, j.key_id,
        jsonb_build_array(jsonb_build_object(
          'account_id', j.account_id, 'call_id', j.call_id, 'source', 'subscription', 'source_id', j.source_id,
          'units', j.units, 'day_start', this_day, 'month_start', j.month_start))
      from judged j where j.simple and j.answer is null
    ),
    new_finished as (
      insert into finished_calls (account_id, id, operation, claim_key, state, pool, units_reserved, units_charged,
        accepted_at, deadline_at, finished_at, attempts, answer, background, key_id)
      select j.account_id, j.call_id, j.operation, souk_claim_key(j.account_id, j.charge_id), 'settled', j.pool, j.units,
        j.units, at, j.deadline, at, 0, j.answer, j.background, j.key_id
      from judged j where j.simple and j.answer is not null
    ),
    new_claims as (
      insert into call_claims (claim_key, call_id, accepted_at, answer, background)
      select souk_claim_key(j.account_id, j.charge_id), j.call_id, at, j.answer, j.background
      from judged j where j.simple and j.answer is not null
      on conflict (claim_key) do update set call_id = excluded.call_id, accepted_at = excluded.accepted_at,
        answer = excluded.answer, background = excluded.background
    ),
    used as (
      insert into usage_days as d (account_id, day, operation, key_id, calls, units)
      select j.account_id, (at at time zone 'UTC')::date, j.operation, coalesce(j.key_id, 0), count(*), sum(j.units)
      from judged j where j.simple and j.answer is not null group by j.account_id, j.operation, j.key_id
      on conflict (account_id, day, operation, key_id)
        do update set calls = d.calls + excluded.calls, units = d.units + excluded.units
    ),
    new_lines as (
      insert into ledger (account_id, at, kind, source, source_id, call_id, units)
      select j.account_id, at, case when j.answer is null then 'reserve' else 'charge' end::ledger_kind,
        'subscription', j.source_id, j.call_id, j.units
      from judged j where j.simple
    ),
    moved as (
      update subscriptions s set
        minute_used = case when s.minute_start = this_minute then s.minute_used else 0 end + u.calls,
        minute_start = this_minute,
        day_used = case when s.day_start = this_day then s.day_used else 0 end + u.units,
        day_start = this_day,
        month_used = s.month_used + u.units
      from (
        select j.source_id, sum(j.units) as units, count(*)::integer as calls
        from judged j where j.simple group by j.source_id
      ) as u
      where s.id = u.source_id
    )
    select j.idx::integer, case when j.simple then 'admitted' else j.outcome end, j.account_id,
      case when j.simple then j.call_id else j.open_id end, j.open_state, j.open_answer,
      j.wallet, 'subscription'::source_kind, null, null,
      this_minute + interval '1 minute', j.minute_limit, j.minute_left - j.nth, j.open_background
    from judged j
  loop
    if result.outcome is null then not_simple := not_simple || result.idx;
    else
      deferred := deferred and result.outcome = 'admitted';
      return next result;
    end if;
  end loop;

  if cardinality(not_simple) > 0 then
    for result in
      select * from souk_admit_each(not_simple, at, dedup_seconds, window_start, window_end, zone, calls, held)
    loop
      deferred := deferred and result.outcome = 'admitted';
      return next result;
    end loop;
  end if;
  if deferred then perform set_config('synchronous_commit', 'off', true); end if;
  perform souk_refuse_after(not_after);
end
$$;

-- For processes of earlier versions, whose commits wait for the disk.
create or replace function souk_admit(
  at timestamptz, dedup_seconds integer, window_start time, window_end time, zone text, calls jsonb,
  not_after timestamptz default null
)
returns setof souk_admission language sql as $$
  select * from souk_admit(at, dedup_seconds, window_start, window_end, zone, calls, not_after, false)
$$;

-- Fails after `not_after`, with the error of a statement_timeout.
create or replace function souk_refuse_after(not_after timestamptz) returns void language plpgsql as $$
begin
  if clock_timestamp() > not_after then
    raise exception 'the time of this statement is over' using errcode = 'query_canceled';
  end if;
end
$$;
