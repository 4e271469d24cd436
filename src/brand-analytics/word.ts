import type { z } from 'zod';
import type { shareHistory } from '../operations/answers.ts';
import { changeOf, REPORT_SITES, type ReportSite } from '../operations/brand-analytics/keywords.ts';
import type { Queryable } from '../platform/db/pool.ts';
import {
  clickSumOf,
  conversionSumOf,
  type Products,
  ROW_COLUMNS,
  type Shares,
  type StoredRow,
  sharesOf,
} from './rank-row.ts';
import type { LoadedWeek } from './weeks.ts';

/** Returns the ids of search terms by their normalised text. Unknown terms are absent. */
export async function termIds(
  database: Queryable,
  site: ReportSite,
  terms: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await database.query<{ id: number; term: string }>(
    `select id, term from aba_terms_${site} where site = ${REPORT_SITES[site].domain} and term = any($1::text[])`,
    [terms],
  );
  return new Map(rows.map(({ id, term }) => [term, id]));
}

export interface Word {
  wordId: number;
  keyword: string;
  firstSeen: string;
}

interface InWeek extends Shares, Products {
  week: string;
  rank: number;
  last: number;
}

export async function findWord(database: Queryable, site: ReportSite, wordId: number): Promise<Word | null> {
  const { rows } = await database.query<Word>({
    name: `aba-word-${site}`,
    text: `select id as "wordId", term as keyword, first_seen::text as "firstSeen"
      from aba_terms_${site} where site = ${REPORT_SITES[site].domain} and id = $1`,
    values: [wordId],
  });
  return rows[0] ?? null;
}

/** Returns a term in each of some weeks, the oldest first, with one index access for each week. */
export async function historyOf(
  database: Queryable,
  wordId: number,
  weeks: readonly LoadedWeek[],
): Promise<z.output<typeof shareHistory>> {
  if (weeks.length === 0) return [];
  const looks = weeks.map(
    ({ week, table }) => `select '${week}' as week, rank, last_rank as last, asin1, asin2, asin3,
        click1, click2, click3, conv1, conv2, conv3
      from ${table} where term_id = $1`,
  );
  const { rows } = await database.query<InWeek>(looks.join(' union all '), [wordId]);
  const byWeek = new Map(rows.map((row) => [row.week, row]));
  return [...weeks].reverse().map(({ week: reportDate }) => {
    const row = byWeek.get(reportDate);
    if (!row) return { reportDate, ...NOT_RANKED };
    return {
      reportDate,
      rank: row.rank,
      rankChange: changeOf(row.last, row.rank)?.change ?? null,
      clickShareSum: clickSumOf(row),
      convShareSum: conversionSumOf(row),
      goods: sharesOf(row),
    };
  });
}

const NOT_RANKED = { rank: null, rankChange: null, clickShareSum: null, convShareSum: null, goods: [] };

/** Returns a term in one week; null if it was not ranked. */
export async function findInWeek(
  database: Queryable,
  { site, table }: LoadedWeek,
  wordIds: readonly number[],
): Promise<StoredRow[]> {
  if (wordIds.length === 0) return [];
  const { rows } = await database.query<StoredRow>(
    `select ${ROW_COLUMNS}, t.term from ${table} r join aba_terms_${site} t on t.id = r.term_id
      where r.term_id = any($1::integer[])`,
    [wordIds],
  );
  return rows;
}
