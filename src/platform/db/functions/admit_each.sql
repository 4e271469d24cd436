-- Admits the calls at the positions in `chosen`, one after the other: the general path of souk_admit_calls, which has
-- locked the accounts. Only this path draws on several sources and refuses calls for lack of units.
create or replace function souk_admit_each(
  chosen integer[],
  at timestamptz, dedup_seconds integer, window_start time, window_end time, zone text,
  call_ids uuid[], callers bigint[], key_hashes bytea[], key_versions integer[], charge_ids bytea[], operations text[],
  prices integer[], pools text[], deadlines timestamptz[], inputs jsonb[], answers text[],
  of_batches boolean[], backgrounds boolean[], drys boolean[], continued uuid[], paid integer[],
  unknown bigint[], inactive bigint[], locked bigint[]
)
returns setof souk_admission language plpgsql as $$
declare
  result souk_admission;
  r record;                   -- the present call
  account bigint;             -- its account
  sources souk_source[];      -- sources of the account, without the units that this batch has drawn
  i integer;
  bucket integer;             -- index of the source whose minute_left counts for source i: packs share that of the first pack
  first_pack integer;
  emptied boolean;            -- whether the present call took the last unit of a pack
  user_limit integer;         -- calls per minute that the packs allow together
  need bigint;
  take bigint;
  total bigint;
  blocked integer;            -- the first source that has units but no call left in its minute
  drawn souk_draw[];          -- by the present call
  drawn_from integer[];       -- indices into sources
  pack_drawn boolean;
  key_left bigint;            -- units that the key of the present call may still use; null: it has no cap
  key_units jsonb := '{}';    -- units that this batch has admitted for each key with a cap
  newest calls;               -- the last admitted call, as in the view
  new_calls calls[] := '{}';
  new_draws souk_draw[] := '{}';
begin
  for r in
    select q.*, call_ids[q.idx] as call_id, operations[q.idx] as operation, prices[q.idx] as units, pools[q.idx] as pool,
      deadlines[q.idx] as deadline, inputs[q.idx] as input, answers[q.idx] as answer,
      coalesce(backgrounds[q.idx], false) as background
    from souk_read_calls(chosen, at, dedup_seconds, call_ids, callers, key_hashes, key_versions, charge_ids, of_batches,
      backgrounds, drys, continued, unknown, inactive, locked) as q
    order by q.account_id, q.claim_key, q.idx
  loop
    result := null;
    result.idx := r.idx; result.account_id := r.account_id; result.outcome := r.outcome;
    if r.outcome = 'joined' then
      result.call_id := r.open_id;
      result.joined_state := r.open_state; result.joined_answer := r.open_answer;
      result.joined_background := r.open_background;
    elsif r.outcome is null and not r.dry and newest.claim_key = r.claim_key then
      result.outcome := 'joined'; result.call_id := newest.id;
      result.joined_state := newest.state; result.joined_answer := newest.answer;
      result.joined_background := newest.background;
    end if;
    if result.outcome is not null then return next result; continue; end if;

    if account is distinct from r.account_id then
      account := r.account_id;
      sources := souk_sources(account, at, window_start, window_end, zone);
      first_pack := null;
      for i in 1..cardinality(sources) loop
        if sources[i].source = 'pack' then first_pack := i; exit; end if;
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
    for i in 1..cardinality(sources) loop
      exit when need = 0;
      continue when sources[i].available = 0;
      total := total + least(sources[i].available, need + r.units);
      bucket := case when sources[i].source = 'pack' then first_pack else i end;
      if sources[bucket].minute_left <= 0 then
        blocked := coalesce(blocked, i);
        continue;
      end if;
      take := least(need, sources[i].available);
      need := need - take;
      drawn_from := drawn_from || i;
      drawn := drawn || row(account, r.call_id, case when r.answer is null then 'reserve' else 'charge' end::ledger_kind,
        sources[i].source, sources[i].source_id, take,
        -- A call that draws on two packs counts once in the minute that packs share.
        case when sources[i].source = 'pack' and pack_drawn then 0 else 1 end,
        sources[bucket].minute_start, sources[i].day_start, sources[i].month_start, sources[i].month_end)::souk_draw;
      pack_drawn := pack_drawn or sources[i].source = 'pack';
    end loop;

    if need > 0 then
      result.outcome := 'refused'; result.remaining := total;
      if cardinality(sources) > 0 then
        i := coalesce(blocked, 1); bucket := case when sources[i].source = 'pack' then first_pack else i end;
        result.minute_limit := sources[bucket].minute_limit;
        result.minute_left := greatest(sources[bucket].minute_left, 0);
      end if;
      if blocked is not null and total >= r.units then
        result.reason := 'QUOTA_MINUTE_EXCEEDED'; result.remaining := 0;
        result.wallet := sources[blocked].wallet; result.source := sources[blocked].source;
        result.reset_at := sources[blocked].minute_start + interval '1 minute';
      elsif cardinality(sources) > 0 then
        result.reason := case when total > 0 then 'QUOTA_INSUFFICIENT_UNITS' else sources[1].reason end;
        result.wallet := sources[1].wallet; result.source := sources[1].source; result.reset_at := sources[1].reset_at;
      else
        select o.reason, o.wallet, o.reset_at into result.reason, result.wallet, result.reset_at
        from souk_nothing_to_draw_on(account, at, window_start, window_end, zone) as o;
      end if;
      return next result; continue;
    end if;

    i := drawn_from[1]; bucket := case when sources[i].source = 'pack' then first_pack else i end;
    result.outcome := 'admitted'; result.call_id := r.call_id;
    result.wallet := sources[i].wallet; result.source := sources[i].source;
    result.minute_limit := sources[bucket].minute_limit; result.minute_left := sources[bucket].minute_left - 1;
    result.reset_at := sources[bucket].minute_start + interval '1 minute';
    return next result;
    continue when r.dry;
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
    end loop;
    if emptied then
      -- An empty pack no longer contributes its rate: the limit of the next call is the maximum of the packs with
      -- units.
      select max(k.rate_limit_per_minute) into user_limit from packs k
      where k.account_id = account and k.valid_from <= at and k.valid_until > at and k.remaining_units > 0
        and not exists (
          select 1 from unnest(sources) as f where f.source = 'pack' and f.source_id = k.id and f.available = 0);
      sources[first_pack].minute_left :=
        sources[first_pack].minute_left - sources[first_pack].minute_limit + user_limit;
      sources[first_pack].minute_limit := user_limit;
    end if;
    newest := null;
    newest.account_id := account; newest.id := r.call_id; newest.operation := r.operation;
    newest.claim_key := r.claim_key; newest.pool := r.pool; newest.units_reserved := r.units;
    newest.accepted_at := at; newest.deadline_at := r.deadline; newest.attempts := 0;
    newest.background := r.background; newest.key_id := r.key_id;
    newest.units_paid := coalesce(paid[r.idx], 0);
    if r.answer is null then
      newest.state := 'reserved'; newest.units_charged := 0; newest.input := r.input;
      newest.draws := to_jsonb(drawn);
    else
      newest.state := 'settled'; newest.units_charged := r.units; newest.finished_at := at; newest.answer := r.answer;
    end if;
    new_calls := new_calls || newest;
    new_draws := new_draws || drawn;
  end loop;

  if cardinality(new_calls) > 0 then
    insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at, input,
      draws, background, key_id, units_paid)
    select c.account_id, c.id, c.operation, c.claim_key, c.pool, c.units_reserved, c.accepted_at, c.deadline_at, c.input,
      c.draws, c.background, c.key_id, c.units_paid
    from unnest(new_calls) as c where c.state = 'reserved';
    perform souk_store_finished(array(
      select row(c.account_id, c.id, c.operation, c.claim_key, c.state, c.pool, c.units_reserved, c.units_charged,
        c.accepted_at, c.deadline_at, c.started_at, c.finished_at, c.attempts, c.answer, c.error, c.input,
        c.background, false, c.key_id)::finished_calls
      from unnest(new_calls) as c where c.state = 'settled'));
    insert into ledger (account_id, at, kind, source, source_id, call_id, units)
    select d.account_id, at, d.kind, d.source, d.source_id, d.call_id, d.units from unnest(new_draws) as d;
    perform souk_move_meters(new_draws);
    if key_units <> '{}' then perform souk_count_key_units(key_units, at); end if;
  end if;
end
$$;
