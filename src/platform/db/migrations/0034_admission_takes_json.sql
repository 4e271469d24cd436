-- Up Migration

-- Their parameters have changed; migrating creates every function anew afterwards.
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
