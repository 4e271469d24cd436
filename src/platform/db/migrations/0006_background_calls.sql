-- Up Migration

-- True for a call of a batch: no request waits for it, so it is queued behind all others, and lists of jobs leave
-- it out.
alter table calls add column background boolean not null default false;

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

-- Whether the joined call is a call of a batch.
alter type souk_admission add attribute joined_background boolean;
