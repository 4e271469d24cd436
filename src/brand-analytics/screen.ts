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
  sql: string;
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
  const matches = (item: string, inside: boolean) => wordCondition({ database, site, inside }, item, value);
  const dear = [
    ...(await Promise.all(words.map((item) => matches(item, true)))),
    ...(await Promise.all(notWords.map((item) => matches(item, false)))).map((one) => `not (${one})`),
  ];
  return { sql: inOrder(cheap, dear), values };
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

/** Returns whether a term has all words and unbroken texts of an item, as SQL on its wording. */
async function wordCondition(
  { database, site, inside }: WordDeps,
  item: string,
  value: (one: unknown) => string,
): Promise<string> {
  const { words, unbroken } = piecesOfKeyword(item);
  const all = unbroken.map((text) => withToken(tokensOfUnbroken(text)[0], [text], value));
  for (const word of words) {
    const forms = await knownWords(database, site, word, false);
    const own = withToken(wordToken(word, site), formsOf(word, site), value);
    const others = forms.map((form) => withToken(wordToken(form, site), formsOf(form, site), value));
    const isPart = inside && word.length >= SHORTEST_PART;
    const part = isPart ? [`strpos(r.words, ${value(word)}) > 0`] : [];
    all.push([...part, own, ...others].join(' or '));
  }
  return all.map((one) => `(${one})`).join(' and ');
}

/** Returns whether a term has one of some texts. Only a term with the bits of their token can have them. */
function withToken(
  token: number | undefined,
  texts: readonly string[],
  value: (one: unknown) => string,
): string {
  const has = texts.map((text) => `strpos(r.words, ${value(text)}) > 0`).join(' or ');
  if (token === undefined) return `(${has})`;
  const { column, mask } = bitsOf(token);
  return `(r.bits${column + 1} & ${mask} = ${mask} and (${has}))`;
}

type FoundTerm = Pick<ScreenedTerm, 'id' | 'rank' | 'change4' | 'change12' | 'clicks' | 'conversions'>;

/** Counts the matching rows, and returns those of a page, and one more if there are more. */
async function read(
  database: Queryable,
  { terms }: LoadedWeek,
  { from, columns }: ScreenedTable,
  { sql, values }: Conditions,
  screen: Screen,
): Promise<{ total: number; found: FoundTerm[] }> {
  const all = [...values];
  const matching = `select r.term_id as id, r.rank, ${columns.change4} as change4, ${columns.change12} as change12,
      ${columns.clickShare} as clicks, ${columns.conversionShare} as conversions, ${columns.firstSeen} as first_seen
    from ${from} ${sql}`;
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
  const [counted, found] = await Promise.all([
    sql === ''
      ? null
      : database.query<{ total: number }>(`select count(*)::integer as total from ${from} ${sql}`, [
          ...values,
        ]),
    database.query<FoundTerm>(`select * from (${matching}) r ${page}`, all),
  ]);
  return { total: counted ? (counted.rows[0]?.total ?? 0) : terms, found: found.rows };
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
