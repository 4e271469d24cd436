-- Up Migration

-- The weekly search-term reports, by site (the provider's domain number) and week (its Saturday).

-- The id of a term never changes, and contains its site: id % 16.
create table aba_terms (
  site smallint not null,
  id integer not null,
  -- Normalised. With the "C" collation, a prefix is a range of the index.
  term text collate "C" not null,
  -- Search tokens: words, and characters of scripts without word breaks; see
  -- src/operations/brand-analytics/keywords/tokens.ts.
  tokens integer[] not null,
  first_seen date not null,
  primary key (id, site)
) partition by list (site);

-- Titles only: an ASIN is a number in base 36, so a product needs no other id.
create table aba_products (
  site smallint not null,
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
  primary key (site, week)
);
create sequence aba_import_ids;

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
    -- The importer creates a partition for each week, with its indexes.
    execute format('create table %I partition of aba_ranks for values in (%s) partition by list (week)',
      'aba_ranks_' || site.code, site.domain);
  end loop;
end $$;

create unique index aba_terms_term on aba_terms (term, site);
create index aba_terms_tokens on aba_terms using gin (tokens);
