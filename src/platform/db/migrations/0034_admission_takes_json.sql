-- Up Migration

-- Drops functions whose parameters have changed; all functions are created again after the migrations.
do $$
declare
  old regprocedure;
begin
  for old in select p.oid from pg_proc p where p.proname in ('souk_admit', 'souk_admit_each') and p.pronamespace = 'public'::regnamespace
  loop
    execute 'drop function ' || old;
  end loop;
end
$$;
