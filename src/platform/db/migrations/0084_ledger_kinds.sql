-- Up Migration

-- The ledger by kind, without the lines that almost every call has. First in each partition of an earlier month, because these
-- receive no lines. The index of the ledger takes them over and creates the others. It locks the ledger before its partitions, as
-- calls do: with a partition locked first, calls and the migration would wait for each other.
do $$
declare
  part regclass;
begin
  for part in
    select i.inhrelid::regclass from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'ledger'::regclass and c.relname < 'ledger_' || to_char(now() at time zone 'UTC', 'YYYY_MM')
  loop
    execute format('create index on %s (account_id, kind, id) where kind not in (''charge'', ''reserve'', ''settle'')', part);
  end loop;
end
$$;
create index ledger_seldom on ledger (account_id, kind, id) where kind not in ('charge', 'reserve', 'settle');
