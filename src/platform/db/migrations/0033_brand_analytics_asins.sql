-- Up Migration

-- An index for each of the three products of a row. One inverted index of all three took twice the time to create.
do $$
declare
  week record;
  old record;
begin
  for week in select relid::regclass as name from pg_partition_tree('aba_ranks') where isleaf loop
    execute format('create index on %s (asin1) where asin1 > 0', week.name);
    execute format('create index on %s (asin2) where asin2 > 0', week.name);
    execute format('create index on %s (asin3) where asin3 > 0', week.name);
  end loop;
  -- Dropping an index makes readers wait until the end of the migration, so it comes last.
  for old in select i.indexrelid::regclass as name
    from pg_partition_tree('aba_ranks') t join pg_index i on i.indrelid = t.relid
    where t.isleaf and pg_get_indexdef(i.indexrelid, 1, true) = '(ARRAY[asin1, asin2, asin3])' loop
    execute format('drop index %s', old.name);
  end loop;
end $$;
