-- Up Migration

-- The words of all search terms, so that a keyword finds terms by a part of a word, or by another form of it: the words are
-- looked up here, and the terms by the tokens of the words. There are far fewer words than terms.
create extension if not exists pg_trgm;

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

do $$
declare
  site record;
begin
  for site in
    select * from (values (1, 'us'), (2, 'uk'), (3, 'de'), (4, 'fr'), (5, 'jp'), (6, 'ca'), (8, 'it'), (9, 'es'), (11, 'mx'))
      as s (domain, code)
  loop
    execute format('create table %I partition of aba_words for values in (%s)', 'aba_words_' || site.code, site.domain);
    execute format('insert into %I (site, word, stem)
      select %s, w, aba_stem(%2$s, w) from (
        select distinct w from (select distinct unnest(string_to_array(term, '' '')) as part from %I) p, aba_words_of(part) w) d',
      'aba_words_' || site.code, site.domain, 'aba_terms_' || site.code);
  end loop;
end $$;
