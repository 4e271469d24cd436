-- Ends a batch of calls: settles those without an error at their final price, and releases the others. A call that
-- has already ended does not change, and the result says how it ended.
--
-- An open call of an account that another transaction has locked has no state in the result and does not change, so that it
-- delays no other account. So has a call that is not found, because the other transaction may be its admission. A call
-- without a row in the result does not exist.
--
-- If all calls are settled at the price that was reserved, or none has ended now, the commit does not wait for the disk. If the server crashes before it
-- has written the commit, within a second, the calls are open again, as they were admitted: their jobs are put back, find their
-- sources in the cache, and end the calls in the same way. Another ending could be a different one the second time, so it waits.
create or replace function souk_finish(
  at timestamptz,
  account_ids bigint[], call_ids uuid[], final_units integer[], answers text[], errors jsonb[],
  started timestamptz[], tries integer[],
  asked timestamptz[] default null, answered timestamptz[] default null
)
returns table (idx integer, ended_now boolean, state call_state, units_charged integer)
language plpgsql
set enable_seqscan to off
set enable_hashjoin to off
set enable_mergejoin to off
-- Planning again takes a fifth of the time of a call.
set plan_cache_mode to force_generic_plan
as $$
#variable_conflict use_column
declare
  r record;
  last_call uuid;
  keep bigint;      -- units of the present call that are still to be charged
  used bigint;
  drawn souk_draw;
  ended finished_calls[] := '{}';
  not_open integer[] := '{}';
  settled souk_draw[] := '{}';
  returned souk_draw[] := '{}';
  held bigint[];
begin
  held := array(select a.id from accounts a where a.id = any(account_ids) order by a.id for no key update skip locked);

  for r in
    select q.*, c.id, c.operation, c.claim_key, c.pool, c.units_reserved, c.accepted_at, c.deadline_at, c.input,
      c.draws, c.background, c.polled, c.key_id, c.units_paid
    from unnest(account_ids, call_ids, final_units, answers, errors, started, tries, asked, answered)
      with ordinality as q(account_id, call_id, final_units, answer, error, started_at, attempts, asked_at, answered_at, idx)
    left join open_calls c on c.account_id = q.account_id and c.id = q.call_id
    order by q.account_id, q.call_id, q.idx
  loop
    if r.id is null then not_open := not_open || r.idx::integer; continue; end if;
    idx := r.idx;
    if r.account_id <> all (held) then
      ended_now := false; state := null; units_charged := 0;
      return next; continue;
    end if;
    -- Of two endings of a call in one batch the first one counts; the second has its state and charge.
    ended_now := last_call is distinct from r.call_id;
    if not ended_now then return next; continue; end if;

    last_call := r.call_id;
    keep := case when r.error is null then least(r.final_units, r.units_reserved) else 0 end;
    state := case when r.error is null then 'settled' else 'released' end; units_charged := keep;
    return next;
    ended := ended || row(r.account_id, r.call_id, r.operation, r.claim_key, state, r.pool, r.units_reserved, keep,
      r.accepted_at, r.deadline_at, r.started_at, at, r.attempts, r.answer, r.error, r.input, r.background,
      r.polled, r.key_id, r.asked_at, r.answered_at, nullif(r.units_paid, 0))::finished_calls;

    -- Charges the sources in the order in which they were drawn on. The remaining units return to the later ones.
    keep := units_charged;
    foreach drawn in array r.draws loop
      used := least(keep, drawn.units);
      keep := keep - used;
      if used < drawn.units then
        drawn.kind := 'release'; drawn.units := drawn.units - used; returned := returned || drawn;
      end if;
      if used > 0 then
        drawn.kind := 'settle'; drawn.units := used; settled := settled || drawn;
      end if;
    end loop;
  end loop;

  delete from open_calls c using unnest(ended) as e where c.account_id = e.account_id and c.id = e.id;
  perform souk_store_finished(ended);
  insert into ledger (account_id, at, kind, source, source_id, call_id, units)
  select d.account_id, at, d.kind, d.source, d.source_id, d.call_id, d.units from unnest(settled || returned) as d;
  if cardinality(not_open) > 0 then
    return query
      select q.idx::integer, false, c.state, coalesce(c.units_charged, 0)
      from unnest(account_ids, call_ids) with ordinality as q(account_id, call_id, idx)
      left join finished_calls c on c.account_id = q.account_id and c.id = q.call_id
      where q.idx = any(not_open)
        and (c.id is not null or q.account_id <> all (held) and exists (select from accounts a where a.id = q.account_id));
  end if;
  if cardinality(returned) > 0 then
    perform souk_return_to_meters(returned);
    perform souk_return_to_keys(array(
      select row(e.key_id, e.accepted_at, e.units_reserved - e.units_charged)::souk_key_return
      from unnest(ended) as e where e.key_id is not null and e.units_charged < e.units_reserved));
    -- Units that return to a pack whose validity is over expire immediately.
    if exists (select 1 from unnest(returned) as d where d.source = 'pack') then
      perform souk_expire_packs(at, array(select distinct d.account_id from unnest(returned) as d where d.source = 'pack'));
    end if;
  elsif cardinality(ended) = 0 or cardinality(array_remove(errors, null)) = 0 then
    perform set_config('synchronous_commit', 'off', true);
  end if;
end
$$;

-- Stores calls that have ended, and counts them in the usage of their day. Identical calls join a settled one for some minutes by its claim.
create or replace function souk_store_finished(ended finished_calls[]) returns void language plpgsql as $$
begin
  insert into finished_calls select * from unnest(ended);
  insert into call_claims (claim_key, call_id, accepted_at, answer, background)
  select e.claim_key, e.id, e.accepted_at, e.answer, e.background from unnest(ended) as e where e.state = 'settled'
  on conflict (claim_key) do update set call_id = excluded.call_id, accepted_at = excluded.accepted_at,
    answer = excluded.answer, background = excluded.background
  where call_claims.accepted_at <= excluded.accepted_at;
  insert into usage_days as d (account_id, day, operation, key_id, calls, units)
  select e.account_id, (e.accepted_at at time zone 'UTC')::date, e.operation, coalesce(e.key_id, 0), count(*),
    sum(e.units_charged)
  from unnest(ended) as e group by 1, 2, 3, 4
  on conflict (account_id, day, operation, key_id)
    do update set calls = d.calls + excluded.calls, units = d.units + excluded.units;
end
$$;

-- Looks up a call that has ended. A function of its own, so that a statement that seldom needs it opens no partition.
create or replace function souk_finished_call(account bigint, call uuid) returns setof finished_calls
language plpgsql stable rows 1 as $$
begin
  return query select * from finished_calls c where c.account_id = account and c.id = call;
end
$$;
