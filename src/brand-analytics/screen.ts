import {
  formsOf,
  piecesOfKeyword,
  REPORT_SITES,
  type ReportSite,
  tokensOfUnbroken,
  wordToken,
} from '../operations/brand-analytics/keywords.ts';
import type { Range } from '../operations/params/range.ts';
import {
  type ScreenPosition,
  type ScreenSort,
  type SortKey,
  sortOf,
} from '../operations/research/screen-cursor.ts';
import type { Queryable } from '../platform/db/pool.ts';
import type { Products } from './rank-row.ts';
import { knownWords, SHORTEST_PART, spellingsOf } from './rank-walk.ts';
import { bitsOf, UNKNOWN_CHANGE } from './screen-columns.ts';
import type { LoadedWeek, WeekScreen } from './weeks.ts';

export interface ScreenFilter {
  rank?: Range | undefined;
  /** Places. Terms whose change is unknown match no range. */
  change4?: Range | undefined;
  change12?: Range | undefined;
  /** Percent. */
  clickShare?: Range | undefined;
  conversionShare?: Range | undefined;
  /** Normalised. A term matches all of these, */
  words?: readonly string[] | undefined;
  /** and none of these. */
  notWords?: readonly string[] | undefined;
  brand?: string | undefined;
  /** YYYY-MM-DD. */
  newSince?: string | undefined;
}

export interface Screen {
  filter: ScreenFilter;
  sort: ScreenSort;
  limit: number;
  /** The last row of the previous page. */
  after: ScreenPosition | null;
  /** Whether the weeks four and twelve weeks before are loaded. Otherwise, all changes are unknown. */
  compared: { change4: boolean; change12: boolean };
}

/** A term that matches. */
export interface ScreenedTerm extends Products {
  id: number;
  rank: number;
  /** Places; null if unknown. */
  change4: number | null;
  change12: number | null;
  /** Hundredths of a percent; null if unknown. */
  clicks: number | null;
  conversions: number | null;
  term: string;
  /** YYYY-MM-DD. */
  firstSeen: string;
}

interface Screened {
  terms: ScreenedTerm[];
  total: number;
  /** The last row, if there are more. */
  last: ScreenPosition | null;
}

/**
 * Finds the terms of a week that match a filter, and counts them, by scans of the narrow table of the week that PostgreSQL runs in
 * parallel; see docs/decisions/a-screen-reads-a-narrow-table.md.
 */
export async function screenWeek(database: Queryable, week: LoadedWeek, screen: Screen): Promise<Screened> {
  const table = tableOf(week, screen);
  const conditions = await conditionsOf(database, week.site, table, screen);
  if (!conditions) return { terms: [], total: 0, last: null };
  const { total, found } = await read(database, week, table, conditions, screen);
  const page = found.slice(0, screen.limit);
  const terms = await completed(database, week, page);
  const last = found.length > page.length ? terms.at(-1) : undefined;
  return { terms, total, last: last ? positionOf(week, screen, last) : null };
}

/** The table to read, as SQL, and its columns. */
interface ScreenedTable {
  from: string;
  columns: Record<SortKey, string>;
}

function tableOf({ site, screen }: LoadedWeek, { filter, sort, compared }: Screen): ScreenedTable {
  const { table, isStale } = screen as WeekScreen;
  const readsDates = filter.newSince !== undefined || sortOf(sort).key === 'firstSeen';
  // The dictionary is right at any time, and reading it for all terms of the week takes seconds.
  const readsDictionary = isStale && readsDates;
  const changeOf = (column: 'change4' | 'change12') =>
    compared[column] ? `nullif(r.${column}, ${UNKNOWN_CHANGE})` : 'null::integer';
  return {
    from: `${table} r${readsDictionary ? ` join aba_terms_${site} t on t.id = r.term_id` : ''}`,
    columns: {
      rank: 'r.rank',
      change4: changeOf('change4'),
      change12: changeOf('change12'),
      clickShare: 'nullif(r.click_sum, -1)',
      conversionShare: 'nullif(r.conv_sum, -1)',
      firstSeen: readsDictionary ? 't.first_seen' : 'r.first_seen',
    },
  };
}

interface Conditions {
  /** Of all conditions, with `where`; empty if there are none. */
  sql: string;
  /** Of those that compare no texts. */
  cheap: readonly string[];
  /** Of those that compare texts. */
  dear: readonly string[];
  values: readonly unknown[];
}

/** Converts a filter to SQL; null if no term can match. */
async function conditionsOf(
  database: Queryable,
  site: ReportSite,
  { columns }: ScreenedTable,
  { filter, compared }: Screen,
): Promise<Conditions | null> {
  const { change4, change12, brand, newSince, words = [], notWords = [] } = filter;
  if ((change4 && !compared.change4) || (change12 && !compared.change12)) return null;
  const values: unknown[] = [];
  const value = (one: unknown) => `$${values.push(one)}`;
  // The plain columns: a comparison with `nullif` takes longer.
  const cheap = [
    ...within('r.rank', filter.rank, value),
    ...within('r.change4', change4, value, UNKNOWN_CHANGE),
    ...within('r.change12', change12, value, UNKNOWN_CHANGE),
    ...within('r.click_sum', inHundredths(filter.clickShare), value, -1),
    ...within('r.conv_sum', inHundredths(filter.conversionShare), value, -1),
  ];
  if (newSince !== undefined)
    cheap.push(`${columns.firstSeen} >= ${value(newSince < OLDEST_DATE ? OLDEST_DATE : newSince)}::date`);
  if (brand !== undefined) {
    const ids = await spellingsOf(database, 'brand', brand);
    if (ids.length === 0) return null;
    const list = value(ids);
    cheap.push(`(${[1, 2, 3].map((place) => `r.brand${place} = any(${list}::integer[])`).join(' or ')})`);
  }
  const having = (items: readonly string[], inside: boolean) =>
    Promise.all(items.map((item) => wordsOf({ database, site, inside }, item)));
  const dear = [
    ...(await having(words, true)).map((all) => allSql(all, value)),
    ...withoutSql(await having(notWords, false), value),
  ];
  return { sql: inOrder(cheap, dear), cheap, dear, values };
}

/** No report is older. PostgreSQL has no year 0. */
const OLDEST_DATE = '1990-01-01';

/** Joins conditions, so that texts are compared only in rows that match all others: PostgreSQL would not know which take longer. */
function inOrder(cheap: readonly string[], dear: readonly string[]): string {
  if (cheap.length > 0 && dear.length > 0)
    return `where case when ${cheap.join(' and ')} then ${dear.join(' and ')} end`;
  const all = [...cheap, ...dear];
  return all.length > 0 ? `where ${all.join(' and ')}` : '';
}

/** @param unknown the value of unknown entries, which is below all others and matches no range. */
function within(
  column: string,
  range: Range | undefined,
  value: (one: unknown) => string,
  unknown?: number,
): string[] {
  if (!range) return [];
  const { min, max } = range;
  return [
    ...(min !== undefined ? [`${column} >= ${value(min)}::integer`] : []),
    ...(max !== undefined ? [`${column} <= ${value(max)}::integer`] : []),
    ...(min === undefined && unknown !== undefined ? [`${column} > ${unknown}`] : []),
  ];
}

/** Converts percent to the hundredths that are exactly within the range. */
function inHundredths(range: Range | undefined): Range | undefined {
  if (!range) return undefined;
  const { min, max } = range;
  const near = (percent: number) => Math.round(percent * 100);
  return {
    ...(min !== undefined && { min: near(min) / 100 >= min ? near(min) : near(min) + 1 }),
    ...(max !== undefined && { max: near(max) / 100 <= max ? near(max) : near(max) - 1 }),
  };
}

interface WordDeps {
  database: Queryable;
  site: ReportSite;
  /** Whether words of three letters or more match inside longer words. */
  inside: boolean;
}

/** Texts of which a term has one. Only a term with the bits of the token can have them; undefined: any term can. */
interface Texts {
  token: number | undefined;
  texts: readonly string[];
}

/** Returns the words and unbroken texts of an item, each with its forms: a term has the item if it has a form of each. */
async function wordsOf({ database, site, inside }: WordDeps, item: string): Promise<Texts[][]> {
  const { words, unbroken } = piecesOfKeyword(item);
  const all: Texts[][] = unbroken.map((text) => [{ token: tokensOfUnbroken(text)[0], texts: [text] }]);
  for (const word of words) {
    const others = await knownWords(database, site, word, false);
    const forms = [word, ...others].map((one) => ({
      token: wordToken(one, site),
      texts: formsOf(one, site),
    }));
    const isPart = inside && word.length >= SHORTEST_PART;
    all.push([...(isPart ? [{ token: undefined, texts: [word] }] : []), ...forms]);
  }
  return all;
}

/** Returns whether a term has an item, as SQL on its wording. */
function allSql(item: readonly Texts[][], value: (one: unknown) => string): string {
  const anySql = (forms: readonly Texts[]) => forms.map((one) => hasSql(one, value)).join(' or ');
  return item.map((forms) => `(${anySql(forms)})`).join(' and ');
}

/** Returns whether a term has one of some texts, as SQL. */
function hasSql({ token, texts }: Texts, value: (one: unknown) => string): string {
  const has = texts.map((text) => `strpos(r.words, ${value(text)}) > 0`).join(' or ');
  if (token === undefined) return `(${has})`;
  const { column, mask } = bitsOf(token);
  return `(r.bits${column + 1} & ${mask} = ${mask} and (${has}))`;
}

/**
 * Returns that a term has none of some items, as SQL. The forms of single words are grouped by the column of their bits: a term
 * without any bit of a group has none of its words, so one comparison decides about half of the rows.
 */
function withoutSql(items: readonly Texts[][][], value: (one: unknown) => string): string[] {
  const single = items.flatMap((item) => (item.length === 1 ? (item[0] ?? []) : []));
  const groups = [0, 1].flatMap((column): string[] => {
    const forms = single.filter(({ token }) => token !== undefined && bitsOf(token).column === column);
    if (forms.length === 0) return [];
    const bits = forms.reduce((found, { token }) => withOneBit(found, bitsOf(token as number).mask), 0);
    return [
      `(r.bits${column + 1} & ${bits} <> 0 and (${forms.map((one) => hasSql(one, value)).join(' or ')}))`,
    ];
  });
  const others = [
    ...single.filter(({ token }) => token === undefined).map((one) => hasSql(one, value)),
    ...items.filter((item) => item.length !== 1).map((item) => allSql(item, value)),
  ];
  return [...groups, ...others].map((one) => `not (${one})`);
}

/** Adds one of the bits of a mask to others, unless they have one. A term with the mask has this bit. */
function withOneBit(bits: number, mask: number): number {
  return bits & mask ? bits : bits | (mask & -mask);
}

type FoundTerm = Pick<ScreenedTerm, 'id' | 'rank' | 'change4' | 'change12' | 'clicks' | 'conversions'>;

/** Counts the matching rows, and returns those of a page, and one more if there are more. */
async function read(
  database: Queryable,
  { terms }: LoadedWeek,
  table: ScreenedTable,
  conditions: Conditions,
  screen: Screen,
): Promise<{ total: number; found: FoundTerm[] }> {
  const { from } = table;
  const { sql, values, dear } = conditions;
  const all = [...values];
  const matching = `${matchingSql(table)} from ${from} ${sql}`;
  const page = pageSql(screen, (one) => `$${all.push(one)}`);
  if (screen.filter.words?.length) {
    // Words take most of the time and match few terms, so these are kept, and counted where they are.
    const { rows } = await database.query<FoundTerm & { total: number }>(
      `with r as materialized (${matching})
        select c.total, p.* from (select count(*)::integer as total from r) c
        left join lateral (select * from r ${page}) p on true`,
      all,
    );
    return { total: rows[0]?.total ?? 0, found: rows.filter(({ id }) => id !== null) };
  }
  const counting = `select count(*)::integer as total from ${from} ${sql}`;
  const wholePage = () => database.query<FoundTerm>(`select * from (${matching}) r ${page}`, all);
  const [counted, { rows: found }] = await Promise.all([
    sql === '' ? null : database.query<{ total: number }>(counting, [...values]),
    dear.length > 0 ? pageOfCandidates(database, table, conditions, screen) : wholePage(),
  ]);
  const total = counted ? (counted.rows[0]?.total ?? 0) : terms;
  const isWhole = found.length > screen.limit || (screen.after === null && found.length === total);
  return { total, found: dear.length === 0 || isWhole ? found : (await wholePage()).rows };
}

function matchingSql({ columns }: ScreenedTable): string {
  return `select r.term_id as id, r.rank, ${columns.change4} as change4, ${columns.change12} as change12,
      ${columns.clickShare} as clicks, ${columns.conversionShare} as conversions, ${columns.firstSeen} as first_seen`;
}

/** The rows in the order of a page whose texts are compared, for each row of the page, and at least. */
const CANDIDATES_PER_ROW = 4;
const FEWEST_CANDIDATES = 2_000;

/**
 * Returns the first rows of a page that match, out of those that come first by the conditions without texts: words that must not
 * occur are in few terms, so comparing some thousand texts is enough. There may be fewer rows than match.
 */
function pageOfCandidates(
  database: Queryable,
  table: ScreenedTable,
  { cheap, dear, values }: Conditions,
  screen: Screen,
) {
  const all = [...values];
  const value = (one: unknown) => `$${all.push(one)}`;
  const limit = Math.max(FEWEST_CANDIDATES, CANDIDATES_PER_ROW * screen.limit);
  const candidates = `select * from (${matchingSql(table)}, r.bits1, r.bits2, r.words from ${table.from} ${inOrder(cheap, [])}) r
    ${pageSql({ ...screen, limit }, value)}`;
  return database.query<FoundTerm>(
    `select id, rank, change4, change12, clicks, conversions from (${candidates}) r
      where ${dear.join(' and ')} ${pageSql({ ...screen, after: null }, value)}`,
    all,
  );
}

/** The columns of matching rows by which they are sorted. */
const SORTED_BY: Record<SortKey, string> = {
  rank: 'r.rank',
  change4: 'r.change4',
  change12: 'r.change12',
  clickShare: 'r.clicks',
  conversionShare: 'r.conversions',
  firstSeen: 'r.first_seen',
};

/** The conditions, order and limit of a page of matching rows, as SQL. */
function pageSql({ sort, limit, after }: Screen, value: (one: unknown) => string): string {
  const { key, descending } = sortOf(sort);
  const column = SORTED_BY[key];
  return `${after ? `where ${startSql(column, after, value)}` : ''}
    order by ${column} ${descending ? 'desc' : 'asc'} nulls last, r.rank, r.id limit ${limit + 1}`;
}

/** The condition of the rows after a position, as SQL. Unknown values come last in both directions. */
function startSql(column: string, after: ScreenPosition, value: (one: unknown) => string): string {
  const { key, descending } = sortOf(after.sort);
  const behind = `(r.rank, r.id) > (${value(after.rank)}::integer, ${value(after.wordId)}::integer)`;
  if (after.value === null) return `(${column} is null and ${behind})`;
  const position = `${value(after.value)}::${key === 'firstSeen' ? 'date' : 'integer'}`;
  const beyond = `${column} ${descending ? '<' : '>'} ${position}`;
  return `(${beyond} or (${column} = ${position} and ${behind}) or ${column} is null)`;
}

/** Adds the texts, dates and products of some terms. */
async function completed(
  database: Queryable,
  { table, site }: LoadedWeek,
  found: readonly FoundTerm[],
): Promise<ScreenedTerm[]> {
  if (found.length === 0) return [];
  const { rows } = await database.query<Omit<ScreenedTerm, keyof FoundTerm> & { id: number }>({
    text: `select r.term_id as id, r.asin1, r.asin2, r.asin3, t.term, t.first_seen::text as "firstSeen"
      from ${table} r join aba_terms_${site} t on t.id = r.term_id and t.site = ${REPORT_SITES[site].domain}
      where r.term_id = any($1::integer[])`,
    values: [found.map(({ id }) => id)],
  });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return found.flatMap((one) => {
    const row = byId.get(one.id);
    return row ? [{ ...one, ...row }] : [];
  });
}

function positionOf({ week }: LoadedWeek, { sort }: Screen, last: ScreenedTerm): ScreenPosition {
  const values: Record<SortKey, number | string | null> = {
    rank: last.rank,
    change4: last.change4,
    change12: last.change12,
    clickShare: last.clicks,
    conversionShare: last.conversions,
    firstSeen: last.firstSeen,
  };
  return { week, sort, value: values[sortOf(sort).key], rank: last.rank, wordId: last.id };
}
