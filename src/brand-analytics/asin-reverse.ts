import type { ReverseKeyword } from '../operations/brand-analytics/asin-reverse.ts';
import { fluctuationOf } from '../operations/brand-analytics/keywords.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { asinToNumber } from './asin-number.ts';
import { percent } from './rank-row.ts';
import type { LoadedWeek } from './weeks.ts';

/** Number of weeks that are searched at the same time. */
const AT_ONCE = 4;

/** The indexes leave out rows without a product at a place. With `> 0` the planner can use them. */
export const HAS_ASIN = ['r.asin1', 'r.asin2', 'r.asin3']
  .map((column) => `(${column} = a.asin and ${column} > 0)`)
  .join(' or ');

/** Returns an SQL expression for the share of the product `a.asin` in a row `r`. */
export function shareAt(column: 'click' | 'conv'): string {
  return `case a.asin when r.asin1 then r.${column}1 when r.asin2 then r.${column}2 else r.${column}3 end`;
}

/**
 * Returns keywords of products, by ASIN: the newest week first, then by rank.
 * @param weeks to search, the newest first.
 * @param limit rows per ASIN. One more is fetched, to see whether there are more.
 */
export async function reverseAsins(
  database: Queryable,
  weeks: readonly LoadedWeek[],
  asins: readonly string[],
  limit: number,
): Promise<Map<string, ReverseKeyword[]>> {
  const found = new Map(asins.map((asin) => [asin, [] as ReverseKeyword[]]));
  for (const some of byDate(weeks)) {
    const open = asins.filter((asin) => (found.get(asin)?.length ?? 0) <= limit);
    if (open.length === 0) break;
    const each = await Promise.all(some.map((week) => lookInto(database, week, open, limit)));
    const rows = each
      .flat()
      .sort(
        (a, b) => b.keyword.reportDate.localeCompare(a.keyword.reportDate) || a.keyword.rank - b.keyword.rank,
      );
    for (const { asin, keyword } of rows) found.get(asin)?.push(keyword);
  }
  return found;
}

/** Splits weeks into small groups; weeks of one date stay in one group. */
function byDate(weeks: readonly LoadedWeek[]): LoadedWeek[][] {
  const groups: LoadedWeek[][] = [];
  for (const week of weeks) {
    const last = groups.at(-1);
    if (last && (last.length < AT_ONCE || last.at(-1)?.week === week.week)) last.push(week);
    else groups.push([week]);
  }
  return groups;
}

async function lookInto(
  database: Queryable,
  { table, site, week }: LoadedWeek,
  asins: readonly string[],
  limit: number,
): Promise<{ asin: string; keyword: ReverseKeyword }[]> {
  const byNumber = new Map(asins.map((asin) => [String(asinToNumber(asin)), asin]));
  const { rows } = await database.query<{
    asin: string;
    id: number;
    term: string;
    rank: number;
    position: number;
    click: number;
    conversion: number;
    fluctuation: number;
  }>(
    `select a.asin::text, m.*, t.term from unnest($1::bigint[]) as a (asin)
      cross join lateral (
        select * from (
          select r.term_id as id, r.rank, r.fluctuation,
            case a.asin when r.asin1 then 1 when r.asin2 then 2 else 3 end as position,
            ${shareAt('click')} as click, ${shareAt('conv')} as conversion
          from ${table} r where ${HAS_ASIN}
          -- Prevents a scan by rank, which the planner prefers because it overestimates the number of rows with a
          -- product.
          offset 0) f
        order by f.rank, f.id limit $2) m
      join aba_terms_${site} t on t.id = m.id`,
    [[...byNumber.keys()], limit + 1],
  );
  return rows.map((row) => ({
    asin: byNumber.get(row.asin) ?? '',
    keyword: {
      wordId: row.id,
      keyword: row.term,
      country: site,
      reportDate: week,
      rank: row.rank,
      position: row.position,
      clickShare: percent(row.click),
      conversionShare: percent(row.conversion),
      fluctuationType: fluctuationOf(row.fluctuation),
    },
  }));
}
