-- Up Migration

-- The rows of a week are found by each of their three products; an inverted index of all three took twice the time to make.
do $$
declare
  week record;
  old record;
begin
  for week in select relid::regclass as name from pg_partition_tree('aba_ranks') where isleaf loop
    execute format('create index on %s (asin1)', week.name);
    execute format('create index on %s (asin2)', week.name);
    execute format('create index on %s (asin3)', week.name);
    for old in select indexrelid::regclass as name from pg_index
      where indrelid = week.name and pg_get_indexdef(indexrelid, 1, true) = '(ARRAY[asin1, asin2, asin3])' loop
      execute format('drop index %s', old.name);
    end loop;
    execute format('analyze %s', week.name);
  end loop;
end $$;
