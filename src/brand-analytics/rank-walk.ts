import type { Fluctuation } from '../operations/brand-analytics/keywords/fluctuation.ts';
import { keywordQuery } from '../operations/brand-analytics/keywords/tokens.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { foundBySql } from './found-by.ts';
import { LABEL_KINDS, type LabelKind } from './label-kinds.ts';
import { ROW_COLUMNS, type StoredRow } from './rank-row.ts';
import { rangeAfter } from './rank-windows.ts';
import { clickSumTag, conversionSumTag, fluctuationTag } from './row-tags.ts';
import type { LoadedWeek } from './weeks.ts';

export interface RankFilter {
  keyword?: string | undefined;
  fluctuationType?: Fluctuation | undefined;
  brand?: string | undefined;
  category?: string | undefined;
  /** Percent. */
  clickSumMin?: number | undefined;
  convSumMin?: number | undefined;
}

/** The part of a week to read, in the order of ranks. */
export interface Walk {
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
          select ${ROW_COLUMNS} from ${week.table} r
          where r.rank > $1 and r.rank <= $2 and (cardinality($3::integer[]) = 0 or ${FOUND_BY} && $3) ${fits.condition}
          order by r.rank fetch first ${wanted} rows with ties) r
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
  const { keyword, fluctuationType, clickSumMin = 0, convSumMin = 0 } = filter;
  const query = keyword === undefined ? null : keywordQuery(keyword.normalize('NFC').toLowerCase(), site);
  if (query && query.tokens.length === 0) return null;
  const tags = [
    ...(query?.tokens ?? []),
    ...(fluctuationType ? [fluctuationTag(fluctuationType)] : []),
    ...clickSumTag(clickSumMin),
    ...conversionSumTag(convSumMin),
  ];
  const values: unknown[] = [];
  const value = (one: unknown) => `$${values.push(one) + 3}`;
  let condition = tags.length > 0 ? `and ${FOUND_BY} @> ${value(tags)}::integer[]` : '';
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
    condition,
    values,
    matches: (term) => query === null || query.matches(term),
  };
}

/** Blank shares count as 0. */
function sumSql(share: 'click' | 'conv'): string {
  return `(${[1, 2, 3].map((place) => `greatest(r.${share}${place}, 0)`).join(' + ')})`;
}

/** Returns the ids of a name in all spellings, because case does not matter. */
async function spellingsOf(database: Queryable, kind: LabelKind, name: string): Promise<number[]> {
  const { rows } = await database.query<{ id: number }>({
    name: 'aba-spellings',
    text: 'select id from aba_labels where kind = $1 and lower(name) = lower($2)',
    values: [LABEL_KINDS[kind], name],
  });
  return rows.map(({ id }) => id);
}
