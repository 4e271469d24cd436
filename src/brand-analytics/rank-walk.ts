import type { Database } from '../db/pool.ts';
import type { Fluctuation } from '../keywords/fluctuation.ts';
import { clickSumTag, conversionSumTag, fluctuationTag } from '../keywords/row-tags.ts';
import { keywordQuery } from '../keywords/tokens.ts';
import { LABEL_KINDS, type LabelKind } from './import/labels.ts';
import { ROW_COLUMNS, type StoredRow } from './rank-row.ts';
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

export interface Walk {
  filter: RankFilter;
  /** Ranks above this one, up to and with that one. */
  after: number;
  to: number;
  /** Rows wanted; a few more come when the last ones share a rank. */
  count: number;
}

/**
 * With filters the first look goes so many ranks deep, each further one so many times deeper. Within its ranks a look
 * finds what fits by the index of tags and fetches little that it does not need, however rare or frequent that is.
 */
const FIRST_LOOK_RANKS = 20_000;
const DEEPER = 8;

/** The rows of a week that fit, by rank. Rows of one rank come together. */
export async function walkRanks(database: Database, week: LoadedWeek, walk: Walk): Promise<StoredRow[]> {
  const fits = await fittingOf(database, week, walk.filter);
  if (!fits) return [];
  const rows: StoredRow[] = [];
  const end = Math.min(walk.to, week.lastRank);
  let from = walk.after;
  let depth = fits.isFiltered ? FIRST_LOOK_RANKS : week.lastRank;
  while (rows.length < walk.count && from < end) {
    const to = Math.min(end, from + depth);
    const wanted = walk.count - rows.length;
    const { rows: found } = await database.query<StoredRow>(
      `select ${ROW_COLUMNS} from ${week.table} r join aba_terms_${week.site} t on t.id = r.term_id
        where r.rank > $1 and r.rank <= $2 ${fits.condition}
        order by r.rank fetch first ${wanted} rows with ties`,
      [from, to, ...fits.values],
    );
    rows.push(...found.filter(({ term }) => fits.matches(term)));
    from = found.length < wanted ? to : (found.at(-1)?.rank ?? to);
    depth *= DEEPER;
  }
  return rows.sort((a, b) => a.rank - b.rank || a.id - b.id);
}

interface Fitting {
  isFiltered: boolean;
  condition: string;
  values: unknown[];
  /** Looks at what the index has found once more. */
  matches(term: string): boolean;
}

/** A filter in terms of tags; null when nothing can fit. */
async function fittingOf(
  database: Database,
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
  const value = (one: unknown) => `$${values.push(one) + 2}`;
  let condition = tags.length > 0 ? `and r.tags @> ${value(tags)}::integer[]` : '';
  for (const kind of ['brand', 'category'] as const) {
    const name = filter[kind];
    if (name === undefined) continue;
    const ids = await spellingsOf(database, kind, name);
    if (ids.length === 0) return null;
    condition += ` and r.tags && ${value(ids)}::integer[]`;
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

/** Ids of a name in all its spellings: case does not matter. */
async function spellingsOf(database: Database, kind: LabelKind, name: string): Promise<number[]> {
  const { rows } = await database.query<{ id: number }>({
    name: 'aba-spellings',
    text: 'select id from aba_labels where kind = $1 and lower(name) = lower($2)',
    values: [LABEL_KINDS[kind], name],
  });
  return rows.map(({ id }) => id);
}
