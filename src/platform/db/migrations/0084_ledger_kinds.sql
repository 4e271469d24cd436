-- Up Migration

-- The ledger by kind, without the lines that almost every call has. First in each partition, the oldest month first, because only
-- the partition of the present month receives lines: calls wait for its index only. The index of the ledger then takes them over.
do $$
declare
  part regclass;
begin
  for part in
    select i.inhrelid::regclass from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'ledger'::regclass order by c.relname
  loop
    execute format('create index on %s (account_id, kind, id) where kind not in (''charge'', ''reserve'', ''settle'')', part);
  end loop;
end
$$;
create index ledger_seldom on ledger (account_id, kind, id) where kind not in ('charge', 'reserve', 'settle');
