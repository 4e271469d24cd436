-- Up Migration

-- The ledger in a partition for each month. The key contains the time, because a partitioned table's key has to.
alter table ledger rename to ledger_before;
alter table ledger_before rename constraint ledger_pkey to ledger_before_pkey;
drop view ledger_entries;

create sequence ledger_ids;
create table ledger (
  account_id bigint not null,
  id bigint not null default nextval('ledger_ids'),
  at timestamptz not null,
  kind ledger_kind not null,
  source source_kind not null,
  source_id bigint not null,
  call_id uuid,
  units bigint not null check (units >= 0),
  primary key (account_id, id, at)
) partition by range (at);

do $$
declare
  month timestamp;
begin
  for month in
    select generate_series(
      date_trunc('month', least((select min(at) from ledger_before), now()) at time zone 'UTC'),
      date_trunc('month', now() at time zone 'UTC') + interval '2 months', interval '1 month')
  loop
    execute format('create table %I partition of ledger for values from (%L) to (%L)',
      'ledger_' || to_char(month, 'YYYY_MM'), month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
  end loop;
end
$$;
create table ledger_default partition of ledger default;

insert into ledger (account_id, id, at, kind, source, source_id, call_id, units)
select account_id, id, at, kind, source, source_id, call_id, units from ledger_before order by id;
select setval('ledger_ids', coalesce(max(id), 0) + 1, false) from ledger;
drop table ledger_before;

-- The view ledger_entries is made again with the functions.
