import { REPORT_SITES, type ReportSite } from '../operations/brand-analytics/keywords/sites.ts';
import type { Queryable } from '../platform/db/pool.ts';

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
