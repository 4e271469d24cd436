-- Expires packs whose validity is over: removes the units left, with one ledger line for each pack, even if a pack
-- ended while no process ran. If a released call returns units to an expired pack, they expire too. The caller
-- holds the locks of the accounts.
create or replace function souk_expire_packs(at timestamptz, accounts bigint[])
returns table (account_id bigint, pack_id bigint, units bigint) language plpgsql as $$
#variable_conflict use_column
begin
  return query
  with ended as (
    select k.account_id, k.id, k.remaining_units from packs k
    where k.account_id = any(accounts)
      and case when k.expired_at is null then k.valid_until <= at else k.remaining_units > 0 end
  ),
  emptied as (
    update packs k set remaining_units = 0, expired_at = coalesce(k.expired_at, at)
    from ended where k.id = ended.id
  ),
  lines as (
    insert into ledger (account_id, at, kind, source, source_id, units)
    select ended.account_id, at, 'expire', 'pack', ended.id, ended.remaining_units
    from ended where ended.remaining_units > 0
  )
  select ended.account_id, ended.id, ended.remaining_units from ended;
end
$$;

-- Expires packs of at most `most` accounts, the longest overdue first. Locked accounts are left to a later run. Safe in
-- several processes at the same time: the second one finds nothing to do.
create or replace function souk_expire_overdue(at timestamptz, most integer)
returns table (account_id bigint, pack_id bigint, units bigint) language plpgsql as $$
#variable_conflict use_column
declare
  owners bigint[];
begin
  owners := array(
    select k.account_id from packs k where k.expired_at is null and k.valid_until <= at
    order by k.valid_until limit most);
  if cardinality(owners) = 0 then return; end if;
  owners := array(select a.id from accounts a where a.id = any(owners) order by a.id for no key update skip locked);
  return query select * from souk_expire_packs(at, owners);
end
$$;
