-- Up Migration

-- Adds the tag of the rank's window to each row, in the index of tags; see src/brand-analytics/rank-windows.ts.
do $$
declare
  week record;
  old record;
begin
  for week in select relid::regclass as name from pg_partition_tree('aba_ranks') where isleaf loop
    execute format('create index on %s using gin
      ((tags || (100 + least((rank - 1) >> 14, 499)))) with (fastupdate = off)',
      week.name);
    for old in select indexrelid::regclass as name from pg_index
      where indrelid = week.name and pg_get_indexdef(indexrelid, 1, true) = 'tags' loop
      execute format('drop index %s', old.name);
    end loop;
    execute format('analyze %s', week.name);
  end loop;
end $$;
