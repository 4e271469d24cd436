-- Up Migration

-- A call of a batch: nobody waits for it, so it goes behind all others, and lists of jobs leave it out.
alter table calls add column background boolean not null default false;

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

-- Whether the call that was joined is one of a batch.
alter type souk_admission add attribute joined_background boolean;
