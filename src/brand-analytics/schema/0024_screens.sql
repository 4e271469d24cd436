-- What a screen of a week compares, in a narrow table for each week: a screen reads all of it, so that any combination of filters
-- takes the same time. See docs/decisions/a-screen-reads-a-narrow-table.md.
create table aba_screens (
  rank integer not null,
  term_id integer not null,
  -- Places since the week four and twelve weeks before; positive is better. The lowest integer means unknown: that week was not
  -- loaded, or did not have the term.
  change4 integer not null,
  change12 integer not null,
  first_seen date not null,
  -- Sums of the three products, in hundredths of a percent; -1 if all are blank.
  click_sum smallint not null,
  conv_sum smallint not null,
  -- Labels; 0 is none.
  brand1 integer not null,
  brand2 integer not null,
  brand3 integer not null,
  week date not null,
  site smallint not null,
  -- Two bits for each token of the term, in one of these. A row without the bits of a token does not have its word.
  bits1 integer not null,
  bits2 integer not null,
  -- The words of the term, each between blanks, then in capitals the English stems that differ from their words.
  words text collate "C" not null
) partition by list (site);

create table test_reports.aba_screens (like aba_screens including all) partition by list (site);

-- The partitions of each site, like those of the ranks.
do $$
declare
  part record;
begin
  for part in
    select n.nspname as schema, replace(c.relname, 'aba_ranks', 'aba_screens') as name, pg_get_expr(c.relpartbound, c.oid) as bound
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
      join pg_namespace n on n.oid = p.relnamespace
    where p.oid in ('aba_ranks'::regclass, 'test_reports.aba_ranks'::regclass)
  loop
    execute format('create table %I.%I partition of %I.aba_screens %s partition by list (week)',
      part.schema, part.name, part.schema, part.bound);
  end loop;
end $$;

-- The number in the name of the week's table of screens; null for weeks that an earlier version imported.
alter table aba_weeks add screen_id bigint;
alter table test_reports.aba_weeks add screen_id bigint;
-- Whether an older week was imported since, so that terms may have been seen before their first_seen in aba_screens. The
-- dictionary has the right dates.
alter table aba_weeks add screen_is_stale boolean not null default false;
alter table test_reports.aba_weeks add screen_is_stale boolean not null default false;
