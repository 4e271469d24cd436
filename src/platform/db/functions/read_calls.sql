drop function if exists souk_read_calls(timestamptz, integer, jsonb);
-- A function of the earlier release that runs during the upgrade still needs souk_read_calls(timestamptz, integer, jsonb, bigint[]).

-- Finds out what does not depend on units for the calls at the positions `chosen`: key, account and identical calls. The arrays
-- have the fields of the calls; souk_admit_calls describes them. `outcome` is null for a call that neither joins another nor is
-- refused because of its key or account. A call does not join the settled call that it continues. `key_changed`: the limits of
-- the key are not those that the caller has checked. `has_claim`: an earlier call has left a claim. For a key with a cap, day_left
-- and month_left are the units that it may still use.
create or replace function souk_read_calls(
  chosen integer[], at timestamptz, dedup_seconds integer,
  call_ids uuid[], callers bigint[], key_hashes bytea[], key_versions integer[], charge_ids bytea[],
  of_batches boolean[], backgrounds boolean[], drys boolean[], continued uuid[],
  unknown bigint[], inactive bigint[], locked bigint[]
)
returns table (
  idx integer, account_id bigint, claim_key bytea, dry boolean, outcome text,
  open_id uuid, open_state call_state, open_answer text, open_background boolean, has_claim boolean,
  key_id bigint, is_capped boolean, day_left bigint, month_left bigint
)
language sql stable as $$
  select f.idx, f.account_id, f.claim_key, f.dry,
    case
      when not f.of_batch and (f.id is null or f.key_account is distinct from f.account_id) then 'key_unknown'
      when f.account_id = any(unknown) then 'key_unknown'
      when not f.of_batch and (f.revoked_at is not null or f.expires_at <= at) then 'key_revoked'
      when f.account_id = any(inactive) then 'account_unavailable'
      when not f.of_batch and f.version <> coalesce(key_versions[f.idx], case when f.dry then f.version else 0 end)
        then 'key_changed'
      when f.dry then null
      when f.account_id = any(locked) then 'locked'
      when f.open_call is not null or f.is_recent or f.ended_call is not null then 'joined'
    end,
    case when f.open_call is not null then f.open_call when f.is_recent then f.claimed_call else f.ended_call end,
    case when f.open_call is not null then 'reserved' when f.is_recent then 'settled' else f.ended_state end,
    case when f.open_call is not null then null when f.is_recent then f.claimed_answer else f.ended_answer end,
    case when f.open_call is not null then f.open_background when f.is_recent then f.claimed_background
      else f.ended_background end,
    f.claimed_call is not null,
    case when f.purpose = 'customer' then f.id end, f.cap_day is not null or f.cap_month is not null,
    case when f.cap_day is not null then f.cap_day - souk_key_use(f.id, 'day', at) end,
    case when f.cap_month is not null then f.cap_month - souk_key_use(f.id, 'month', at) end
  from (
    select q.*, k.id, k.account_id as key_account, k.purpose, k.version, k.revoked_at, k.expires_at, k.cap_day, k.cap_month,
      o.id as open_call, o.background as open_background,
      c.call_id as claimed_call, c.answer as claimed_answer, c.background as claimed_background,
      c.accepted_at > at - make_interval(secs => dedup_seconds) and c.call_id is distinct from continued[q.idx] as is_recent,
      e.id as ended_call, e.state as ended_state, e.answer as ended_answer, e.background as ended_background
    from (
      select i as idx, callers[i] as account_id, souk_claim_key(callers[i], charge_ids[i]) as claim_key,
        coalesce(of_batches[i], false) as of_batch, coalesce(drys[i], false) as dry
      from unnest(chosen) as i
    ) as q
    left join api_keys k on k.hash = key_hashes[q.idx]
    left join lateral (select o.id, o.background from open_calls o where o.claim_key = q.claim_key limit 1) as o on true
    left join call_claims c on c.claim_key = q.claim_key
    -- A batch repeats an admission whose reply it has lost, and the call may have ended meanwhile. With a limit, the condition
    -- is checked before the function is called.
    left join lateral (
      select e.* from souk_finished_call(q.account_id, call_ids[q.idx]) as e where backgrounds[q.idx] limit 1
    ) as e on true
  ) as f
$$;
