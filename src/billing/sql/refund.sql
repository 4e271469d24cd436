-- Refunds a settled call whose answer was lost and cannot be made again. The call then counts as released with the error
-- `why`, its units return to the sources that gave them, and its batch is no longer charged for it. Any other call does
-- not change. Returns the refunded units; null if the call was not settled.
create or replace function souk_refund(at timestamptz, account bigint, call uuid, why jsonb)
returns integer language plpgsql
set enable_seqscan to off
as $$
declare
  c finished_calls;
  returned souk_draw[];
begin
  -- A worker that collects the call holds this row until its charge is counted. Its lock comes before that of the account.
  perform 1 from batch_calls b where b.call_id = call for update;
  perform 1 from accounts a where a.id = account for no key update;
  select * into c from souk_finished_call(account, call);
  if c.state is distinct from 'settled' then return null; end if;

  returned := array(
    select row(account, call, 'refund', l.source, l.source_id, l.units, 0, null, date_trunc('day', c.accepted_at, 'UTC'),
      -- Units of an earlier month do not return to the present one.
      case when s.month_start <= c.accepted_at then s.month_start end, null)::souk_draw
    from ledger l
    left join subscriptions s on l.source = 'subscription' and s.id = l.source_id
    where l.account_id = account and l.at = c.finished_at and l.call_id = call and l.kind in ('charge', 'settle'));
  update finished_calls k set state = 'released', units_charged = 0, answer = null, error = why
  where k.account_id = account and k.id = call;
  delete from call_claims k where k.claim_key = c.claim_key and k.call_id = call;
  update usage_days d set units = d.units - c.units_charged
  where d.account_id = account and d.day = (c.accepted_at at time zone 'UTC')::date and d.operation = c.operation
    and d.key_id = coalesce(c.key_id, 0);
  insert into ledger (account_id, at, kind, source, source_id, call_id, units)
  select d.account_id, at, d.kind, d.source, d.source_id, d.call_id, d.units from unnest(returned) as d;
  perform souk_return_to_meters(returned);
  perform souk_return_to_keys(array[row(c.key_id, c.accepted_at, c.units_charged)::souk_key_return]);
  if exists (select 1 from unnest(returned) as d where d.source = 'pack') then
    perform souk_expire_packs(at, array[account]);
  end if;

  update batches b set units_charged = b.units_charged - c.units_charged
  from batch_calls k
  where k.call_id = call and k.state = 'done' and not k.joined and b.id = k.batch_id and b.account_id = account;
  return c.units_charged;
end
$$;
