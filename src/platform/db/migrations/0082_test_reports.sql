-- Up Migration

-- The generated reports of test keys, in tables like those of imported reports. Connections for them have only this schema in
-- their search path; see docs/decisions/test-reports-are-a-schema.md. A migration that changes a table of reports changes it here, too.
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

do $$
declare
  site record;
  parent text;
begin
  for site in
    select * from (values (1, 'us'), (2, 'uk'), (3, 'de'), (4, 'fr'), (5, 'jp'), (6, 'ca'), (8, 'it'), (9, 'es'), (11, 'mx'))
      as s (domain, code)
  loop
    foreach parent in array array['aba_terms', 'aba_products', 'aba_words'] loop
      execute format('create table test_reports.%I partition of test_reports.%I for values in (%s)',
        parent || '_' || site.code, parent, site.domain);
    end loop;
    execute format('create table test_reports.%I partition of test_reports.aba_ranks for values in (%s) partition by list (week)',
      'aba_ranks_' || site.code, site.domain);
  end loop;
end $$;

do $$
declare
  name text;
begin
  foreach name in array array['aba_words_of', 'aba_stem'] loop
    execute regexp_replace(pg_get_functiondef(name::regproc), 'FUNCTION [^(]*', 'FUNCTION test_reports.' || name);
  end loop;
end $$;
