-- The lower bound of a month of `finished_calls` or `ledger`.
create or replace function souk_month_bound(parent text, month timestamp) returns text language sql stable as $$
  select case parent
    when 'finished_calls' then souk_first_id(month at time zone 'UTC')::text
    else (month at time zone 'UTC')::text
  end
$$;

-- Adds the partition of a month, with the rows of that month that the default partition holds. Returns its name, or null
-- if it exists. Waits for statements that use the default partition, which is usually empty.
create or replace function souk_add_month(parent text, month timestamp) returns text language plpgsql as $$
declare
  name constant text := parent || to_char(month, '_YYYY_MM');
  key constant text := case parent when 'finished_calls' then 'id' else 'at' end;
  lower constant text := souk_month_bound(parent, month);
  upper constant text := souk_month_bound(parent, month + interval '1 month');
begin
  if to_regclass(name) is not null then return null; end if;
  execute format('lock table %I in access exclusive mode', parent || '_default');
  execute format('create table %I (like %I including defaults including constraints)', name, parent);
  execute format('with moved as (delete from %1$I where %2$I >= %3$L and %2$I < %4$L returning *) insert into %5$I select * from moved',
    parent || '_default', key, lower, upper, name);
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, lower, upper);
  return name;
end
$$;

-- The partitions of `parent` whose month ends at `before` or earlier, the oldest first.
create or replace function souk_months_before(parent text, before timestamptz)
returns table (name text, month timestamp) language sql stable as $$
  select p.name, p.month from (
    select c.relname::text as name, to_date(right(c.relname, 7), 'YYYY_MM')::timestamp as month
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass(parent) and c.relname ~ '_[0-9]{4}_[0-9]{2}$'
  ) as p
  where p.month + interval '1 month' <= before at time zone 'UTC' order by p.month
$$;

-- Replaces the ledger lines of a month by one line for each source and kind; every balance stays the same. Lines that
-- take units out come last, so that no balance is below zero in between. Returns false if the month was already
-- folded.
create or replace function souk_fold_ledger_month(name text, month timestamp) returns boolean language plpgsql as $$
begin
  if obj_description(to_regclass(name), 'pg_class') = 'folded' then return false; end if;
  execute format('lock table %I in share mode', name);
  execute format('create table %I (like ledger including defaults including constraints)', name || '_folded');
  execute format('
    insert into %I (account_id, id, at, kind, source, source_id, units)
    select account_id, case when kind in (''reserve'', ''charge'', ''expire'', ''revoke'') then max(id) else min(id) end, min(at),
      kind, source, source_id, sum(units)
    from %I group by account_id, kind, source, source_id', name || '_folded', name);
  execute format('drop table %I', name);
  execute format('alter table %I rename to %I', name || '_folded', name);
  execute format('comment on table %I is ''folded''', name);
  execute format('alter table ledger attach partition %I for values from (%L) to (%L)', name,
    souk_month_bound('ledger', month), souk_month_bound('ledger', month + interval '1 month'));
  return true;
end
$$;
