-- The generated reports of test keys, in tables like those of imported reports. Connections for them have only this schema in
-- their search path; see docs/decisions/test-reports-are-a-schema.md. A migration that changes a table of reports changes it in
-- both schemas.
create schema test_reports;

create table test_reports.aba_labels (like aba_labels including all);
create table test_reports.aba_weeks (like aba_weeks including all);
create table test_reports.aba_provider (like aba_provider including all);
create table test_reports.aba_fetches (like aba_fetches including all);
create table test_reports.aba_imports (like aba_imports including all);
-- Notes hold a lock by their id, so these differ from those of real imports.
alter table test_reports.aba_imports alter column id restart with 1000000000;
create sequence test_reports.aba_import_ids;

create table test_reports.aba_terms (like aba_terms including all) partition by list (site);
create table test_reports.aba_products (like aba_products including all) partition by list (site);
create table test_reports.aba_words (like aba_words including all) partition by list (site);
create table test_reports.aba_ranks (like aba_ranks including all) partition by list (site);

-- The partitions of each site.
do $$
declare
  part record;
begin
  for part in
    select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound, pg_get_partkeydef(c.oid) as key
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where p.oid = any(array['aba_terms', 'aba_products', 'aba_words', 'aba_ranks']::regclass[])
  loop
    execute format('create table test_reports.%I partition of test_reports.%I %s', part.name, part.parent, part.bound)
      || coalesce(' partition by ' || part.key, '');
  end loop;
end $$;

-- The functions, which are not in the search path either.
do $$
declare
  name text;
begin
  foreach name in array array['aba_words_of', 'aba_stem'] loop
    execute regexp_replace(pg_get_functiondef(name::regproc), 'FUNCTION [^(]*', 'FUNCTION test_reports.' || name);
  end loop;
end $$;
