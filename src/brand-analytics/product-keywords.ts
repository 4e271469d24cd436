import type { Queryable } from '../platform/db/pool.ts';
import { asinToNumber } from './asin-number.ts';
import { HAS_ASIN, shareAt } from './asin-reverse.ts';
import { percent } from './rank-row.ts';
import type { LoadedWeek } from './weeks.ts';

/**
 * Returns the keywords of a product in some weeks of a site, each once with its last week: the newest week first, then by
 * rank. @param count the highest number of keywords.
 */
export async function latestKeywords(
  database: Queryable,
  weeks: readonly LoadedWeek[],
  asin: string,
  count: number,
) {
  const [newest] = weeks;
  if (!newest) return [];
  const looks = weeks.map(
    ({ week, table }) => `select '${week}' as week, r.term_id as id, r.rank,
        case a.asin when r.asin1 then 1 when r.asin2 then 2 else 3 end as position, ${shareAt('click')} as click
      from (select $1::bigint as asin) a join ${table} r on ${HAS_ASIN}`,
  );
  const { rows } = await database.query<{
    week: string;
    rank: number;
    position: number;
    click: number;
    term: string;
  }>(
    `select k.week, k.rank, k.position, k.click, t.term from (
        select * from (select distinct on (id) * from (${looks.join(' union all ')}) each order by id, week desc) last
        order by week desc, rank, id limit $2) k
      join aba_terms_${newest.site} t on t.id = k.id
      order by k.week desc, k.rank, k.id`,
    [asinToNumber(asin), count],
  );
  return rows.map(({ term: keyword, week, rank, position, click }) => ({
    keyword,
    week,
    rank,
    position,
    clickShare: percent(click),
  }));
}
