-- Up Migration

-- The provider whose reports the tables of brand analytics hold; no row: none yet. Reports of one provider are not
-- compared with, or shown for, those of another; see docs/decisions/data-names-its-provider.md.
create table aba_provider (
  only_row boolean primary key default true check (only_row),
  provider text not null
);

-- Earlier versions loaded the reports of the demo like files. Each of them has exactly 10,000 terms.
insert into aba_provider (provider)
  select case when bool_and(source = 'csv' and terms = 10000) then 'demo' else 'amazon' end
  from aba_weeks having count(*) > 0;

alter table token_readings add column provider text not null default '';
