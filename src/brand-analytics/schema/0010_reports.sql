create extension if not exists pg_trgm;

-- The weekly search-term reports, by site (the provider's domain number) and week (its Saturday).

-- The id of a term never changes, and contains its site: id % 16.
create table aba_terms (
  site smallint not null,
  id integer not null,
  -- Normalised. With the "C" collation, a prefix is a range of the index.
  term text collate "C" not null,
  -- Search tokens: words, and characters of scripts without word breaks; see
  -- src/operations/brand-analytics/keywords.ts.
  tokens integer[] not null,
  first_seen date not null,
  primary key (id, site)
) partition by list (site);

create unique index aba_terms_term on aba_terms (term, site);
create index aba_terms_tokens on aba_terms using gin (tokens);

-- The words of all search terms, so that a keyword finds terms by a part of a word, or by another form of it: the words are
-- looked up here, and the terms by the tokens of the words. There are far fewer words than terms.
create table aba_words (
  site smallint not null,
  word text collate "C" not null,
  -- The stem in the language of the site; null where the tokens of words are those of stems, or there is no stemmer.
  stem text collate "C",
  primary key (word, site)
) partition by list (site);
create index aba_words_parts on aba_words using gin (word gin_trgm_ops);
create index aba_words_stems on aba_words (stem) where stem is not null;

-- Returns the words of a text that have three characters or more, without text in scripts that have no blanks between
-- words. The pattern has ranges of characters, because classes such as [:alnum:] depend on the collation.
create function aba_words_of(text) returns setof text language sql immutable as $$
  select w from unnest(
    -- Most texts are one word, and a match takes less time than splitting.
    case when $1 ~ '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]'
      then regexp_split_to_array($1, '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+')
      else array[$1] end) as w
  where length(w) > 2 and w !~ '^[\u0e00-\u0eff\u1780-\u17ff\u3000-\u9fff\uf900-\ufaff\uff66-\uff9f]+$'
$$;

create function aba_stem(site integer, word text) returns text language sql immutable as $$
  select case when site in (3, 4, 8, 9, 11) then coalesce((case site
    when 3 then ts_lexize('german_stem', word)
    when 4 then ts_lexize('french_stem', word)
    when 8 then ts_lexize('italian_stem', word)
    else ts_lexize('spanish_stem', word) end)[1], word) end
$$;

-- Titles only: an ASIN is a number in base 36, so a product needs no other id.
create table aba_products (
  site smallint not null,
  -- Of the report that brought the title. A later report with the same title does not change it, because most titles stay the
  -- same, and an import would write the whole table.
  week date not null,
  asin bigint not null,
  title text not null,
  primary key (asin, site)
) partition by list (site);

-- Names of brands and categories, in each spelling. Ids below 1000 are tags of a fixed meaning.
create table aba_labels (
  id integer generated always as identity (start with 1000) primary key,
  kind smallint not null,
  name text not null,
  unique (kind, name)
);
create index aba_labels_folded on aba_labels (kind, lower(name));

-- The loaded weeks. A week gets a new import_id when its rows change, so the highest one of a site changes with any
-- import.
create table aba_weeks (
  site smallint not null,
  week date not null,
  import_id bigint not null,
  source text not null check (source in ('api', 'csv')),
  terms integer not null,
  last_rank integer not null,
  imported_at timestamptz not null,
  -- Whether a row of the week has a brand or category.
  labelled boolean not null default true,
  -- The number in the name of the week's table of screens.
  screen_id bigint not null,
  -- Whether an older week was imported since, so that terms may have been seen before their first_seen in aba_screens. The
  -- dictionary has the right dates.
  screen_is_stale boolean not null default false,
  primary key (site, week)
);
create sequence aba_import_ids;

-- The provider whose reports the tables of brand analytics hold; no row: none yet. Reports of one provider are not
-- compared with, or shown for, those of another; see docs/decisions/data-names-its-provider.md.
create table aba_provider (
  only_row boolean primary key default true check (only_row),
  provider text not null
);

-- Weeks that are being fetched from the provider, or whose last attempt failed. A loaded week has no row.
create table aba_fetches (
  site smallint not null,
  week date not null,
  -- The report that was requested but is not loaded yet. After an interruption, the next attempt continues with it.
  report_id text,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  -- Why the last attempt failed.
  reason text,
  primary key (site, week)
);

-- Imports of weekly reports, including those under way.
create table aba_imports (
  id bigint generated always as identity primary key,
  site smallint not null,
  -- Null until the file has been read, unless the request names the week.
  week date,
  state text not null check (state in ('waiting', 'reading', 'saving', 'indexing', 'done', 'failed')),
  rows_read bigint not null default 0,
  started_at timestamptz not null,
  -- The time by the database's own clock, to compute durations.
  noted_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  reason text
);

-- A row for each term and week. No column is null, because a bitmap of nulls would take eight bytes per row.
create table aba_ranks (
  site smallint not null,
  week date not null,
  asin1 bigint not null,
  asin2 bigint not null,
  asin3 bigint not null,
  rank integer not null,
  term_id integer not null,
  -- The rank a week and four weeks before: 0 if the term was not ranked, -1 if that week is not loaded.
  last_rank integer not null,
  rank_4w integer not null,
  -- Hundredths of a percent; -1 is blank.
  click1 smallint not null,
  click2 smallint not null,
  click3 smallint not null,
  conv1 smallint not null,
  conv2 smallint not null,
  conv3 smallint not null,
  -- 0 unknown, 1 new, 2 rising, 3 falling, 4 stable.
  fluctuation smallint not null,
  -- Labels of three brands and three categories (0: none), then all other tags by which the row is found.
  tags integer[] not null
) partition by list (site);

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

-- The partitions of each site.
do $$
declare
  site record;
begin
  for site in
    select * from (values (1, 'us'), (2, 'uk'), (3, 'de'), (4, 'fr'), (5, 'jp'), (6, 'ca'), (8, 'it'), (9, 'es'), (11, 'mx'))
      as s (domain, code)
  loop
    execute format('create table %I partition of aba_terms for values in (%s)', 'aba_terms_' || site.code, site.domain);
    execute format('create table %I partition of aba_products for values in (%s)', 'aba_products_' || site.code, site.domain);
    execute format('create table %I partition of aba_words for values in (%s)', 'aba_words_' || site.code, site.domain);
    -- The importer creates a partition for each week, with its indexes.
    execute format('create table %I partition of aba_ranks for values in (%s) partition by list (week)',
      'aba_ranks_' || site.code, site.domain);
    execute format('create table %I partition of aba_screens for values in (%s) partition by list (week)',
      'aba_screens_' || site.code, site.domain);
  end loop;
end $$;

-- Brand and root category of the products that customers have looked up. Reports of the Selling Partner API name products
-- only, so an import completes them from here; see src/brand-analytics/product-labels.ts.
create table product_labels (
  site smallint not null,
  asin bigint not null,
  -- The provider of product data.
  provider text not null,
  brand text,
  category text,
  learned_at timestamptz not null,
  primary key (site, asin)
);
create index product_labels_age on product_labels (learned_at);

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
create table test_reports.aba_screens (like aba_screens including all) partition by list (site);

-- The partitions of each site.
do $$
declare
  part record;
begin
  for part in
    select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound, pg_get_partkeydef(c.oid) as key
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where p.oid = any(array['aba_terms', 'aba_products', 'aba_words', 'aba_ranks', 'aba_screens']::regclass[])
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
