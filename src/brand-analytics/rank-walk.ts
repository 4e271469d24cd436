import {
  type Fluctuation,
  piecesOfKeyword,
  REPORT_SITES,
  type ReportSite,
  stemOf,
  tokensOfUnbroken,
  wordsOf,
  wordToken,
} from '../operations/brand-analytics/keywords.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { LABEL_KINDS, type LabelKind } from './label-kinds.ts';
import { ROW_COLUMNS, type StoredRow } from './rank-row.ts';
import { clickSumTag, conversionSumTag, fluctuationTag, foundBySql, rangeAfter } from './row-tags.ts';
import type { LoadedWeek } from './weeks.ts';

/** How the terms that match a keyword are found. */
export interface KeywordFilter {
  /** Tokens that every matching term has. */
  tokens: number[];
  /** Lists of tokens. Every matching term has a token of each list. */
  choices: number[][];
  /** Texts that every matching term contains. They are parts of so many words that reading terms is faster than looking up tokens. */
  contained: string[];
  /** Confirms a candidate: tokens are hashes and may collide, and pairs may come from different parts of the text. */
  matches(term: string): boolean;
}

/** Shorter words are not looked for inside other words: parts of two letters are in most terms. */
export const SHORTEST_PART = 3;

/** If more words than this contain a part, the terms are searched for it instead of the words. */
const MOST_WORDS = 1_000;

/**
 * Converts a keyword to a filter. A term matches if it has all words of the keyword in any order, each in any
 * grammatical form that the language of the site reduces to the same stem, and all unbroken text of the keyword
 * unchanged.
 * @param options.inside whether a word of three letters or more also matches inside longer words.
 * @returns null if the keyword has no letter or digit, which matches no term.
 */
export async function keywordFilter(
  database: Queryable,
  site: ReportSite,
  keyword: string,
  { inside }: { inside: boolean },
): Promise<KeywordFilter | null> {
  const { words, unbroken } = piecesOfKeyword(keyword);
  if (words.length + unbroken.length === 0) return null;
  const filter = {
    tokens: unbroken.flatMap(tokensOfUnbroken),
    choices: [] as number[][],
    contained: [] as string[],
  };
  const isWord: ((word: string) => boolean)[] = [];
  for (const word of words) {
    const isPart = inside && word.length >= SHORTEST_PART;
    const known = await knownWords(database, site, word, isPart);
    if (known.length > MOST_WORDS) {
      filter.contained.push(word);
      isWord.push((other) => other.includes(word));
      continue;
    }
    const found = new Set(known);
    const stem = stemOf(word, site);
    filter.choices.push([...new Set([word, ...known].map((each) => wordToken(each, site)))]);
    isWord.push((other) => found.has(other) || stemOf(other, site) === stem);
  }
  return {
    ...filter,
    matches(term) {
      if (!unbroken.every((part) => term.includes(part))) return false;
      const found = isWord.length === 0 ? [] : wordsOf(term);
      return isWord.every((test) => found.some(test));
    },
  };
}

/** Returns the words with the same stem, and those that contain the word if `isPart`; at most one more than is useful. */
export async function knownWords(
  database: Queryable,
  site: ReportSite,
  word: string,
  isPart: boolean,
): Promise<string[]> {
  const { rows } = await database.query<{ word: string }>(
    `(select word from aba_words_${site} where stem = aba_stem($1, $2) limit ${MOST_WORDS})
     union (select word from aba_words_${site} where $3 and word like '%' || $2 || '%' limit ${MOST_WORDS + 1})`,
    [REPORT_SITES[site].domain, word, isPart],
  );
  return rows.flatMap((row) => {
    const pieces = wordsOf(row.word);
    return pieces.length === 1 ? pieces : pieces.filter((piece) => piece.includes(word));
  });
}

export interface RankFilter {
  keyword?: string | undefined;
  /** Whether the words of the keyword match inside longer words. Default: true. */
  inside?: boolean | undefined;
  fluctuationType?: Fluctuation | undefined;
  brand?: string | undefined;
  category?: string | undefined;
  /** Percent. */
  clickSumMin?: number | undefined;
  convSumMin?: number | undefined;
}

/** The part of a week to read, in the order of ranks. */
interface Walk {
  filter: RankFilter;
  /** Ranks greater than `after`, up to and including `to`. */
  after: number;
  to: number;
  /** Rows to return; a few more if the last ones share a rank. */
  count: number;
}

/** Returns the rows of a week that match, by rank. Rows of one rank are returned together. */
export async function walkRanks(database: Queryable, week: LoadedWeek, walk: Walk): Promise<StoredRow[]> {
  const fits = await fittingOf(database, week, walk.filter);
  if (!fits) return [];
  const rows: StoredRow[] = [];
  const end = Math.min(walk.to, week.lastRank);
  let from = walk.after;
  let looks = 0;
  while (rows.length < walk.count && from < end) {
    const wanted = walk.count - rows.length;
    const { to, tags } = fits.isFiltered ? rangeAfter(from, end, looks) : { to: end, tags: [] };
    const { rows: found } = await database.query<StoredRow>(
      // Terms are joined to the returned rows only, not to all matching ones.
      `select r.*, t.term from (
          select ${ROW_COLUMNS} from ${week.table} r ${fits.join}
          where ${fits.rank} > $1 and ${fits.rank} <= $2 and (cardinality($3::integer[]) = 0 or ${FOUND_BY} && $3) ${fits.condition}
          order by ${fits.rank} fetch first ${wanted} rows with ties) r
        join aba_terms_${week.site} t on t.id = r.id`,
      [from, to, tags, ...fits.values],
    );
    rows.push(...found.filter(({ term }) => fits.matches(term)));
    const isThrough = found.length < wanted;
    from = isThrough ? to : Math.max(from, ...found.map(({ rank }) => rank));
    if (isThrough) looks += 1;
  }
  return rows.sort((a, b) => a.rank - b.rank || a.id - b.id);
}

const FOUND_BY = foundBySql('r');

interface Fitting {
  isFiltered: boolean;
  /** The rank, or an expression of it that no index covers, so that the planner uses the index of tags. */
  rank: string;
  /** Joins the terms, if the condition needs them. */
  join: string;
  condition: string;
  values: unknown[];
  /** Checks a term that the index has found. */
  matches(term: string): boolean;
}

/** Converts a filter to tags; null if no row can match. */
async function fittingOf(
  database: Queryable,
  { site }: LoadedWeek,
  filter: RankFilter,
): Promise<Fitting | null> {
  const { keyword, inside = true, fluctuationType, clickSumMin = 0, convSumMin = 0 } = filter;
  const wanted = keyword?.normalize('NFC').toLowerCase();
  const query = wanted === undefined ? undefined : await keywordFilter(database, site, wanted, { inside });
  if (query === null) return null;
  const tags = [
    ...(query?.tokens ?? []),
    ...(fluctuationType ? [fluctuationTag(fluctuationType)] : []),
    ...clickSumTag(clickSumMin),
    ...conversionSumTag(convSumMin),
  ];
  const values: unknown[] = [];
  const value = (one: unknown) => `$${values.push(one) + 3}`;
  let condition = tags.length > 0 ? `and ${FOUND_BY} @> ${value(tags)}::integer[]` : '';
  for (const choice of query?.choices ?? [])
    condition += ` and ${FOUND_BY} && (select ${value(choice)}::integer[])`;
  for (const text of query?.contained ?? []) condition += ` and t.term like '%' || ${value(text)} || '%'`;
  for (const kind of ['brand', 'category'] as const) {
    const name = filter[kind];
    if (name === undefined) continue;
    const ids = await spellingsOf(database, kind, name);
    if (ids.length === 0) return null;
    condition += ` and ${FOUND_BY} && ${value(ids)}::integer[]`;
  }
  if (clickSumMin > 0) condition += ` and ${sumSql('click')} >= ${value(clickSumMin * 100)}`;
  if (convSumMin > 0) condition += ` and ${sumSql('conv')} >= ${value(convSumMin * 100)}`;
  return {
    isFiltered: condition !== '',
    // The planner does not know how slow it is to compare long lists of tags row by row.
    rank: query?.choices.length ? '(r.rank + 0)' : 'r.rank',
    // Without `offset 0` the planner may prefer to scan all terms.
    join: query?.contained.length
      ? `cross join lateral (select term from aba_terms_${site} where id = r.term_id offset 0) t`
      : '',
    condition,
    values,
    matches: (term) => query?.matches(term) ?? true,
  };
}

/** Blank shares count as 0. */
function sumSql(share: 'click' | 'conv'): string {
  return `(${[1, 2, 3].map((place) => `greatest(r.${share}${place}, 0)`).join(' + ')})`;
}

/** Returns the ids of a name in all spellings, because case does not matter. */
export async function spellingsOf(database: Queryable, kind: LabelKind, name: string): Promise<number[]> {
  const { rows } = await database.query<{ id: number }>({
    name: 'aba-spellings',
    text: 'select id from aba_labels where kind = $1 and lower(name) = lower($2)',
    values: [LABEL_KINDS[kind], name],
  });
  return rows.map(({ id }) => id);
}
