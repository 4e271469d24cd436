import { REPORT_SITES, type ReportSite, siteOfDomain } from '../operations/brand-analytics/keywords.ts';
import { addDays } from '../platform/calendar.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { FIRST_CHANGE_DAYS, SECOND_CHANGE_DAYS, UNKNOWN_CHANGE } from './screen-columns.ts';
import { TEST_REPORTS } from './weeks.ts';

/** What the report of a week says about a term, as the rows of a screen have it. */
export interface TermFigures {
  wordId: number;
  keyword: string;
  rank: number;
  /** Places; null if unknown. */
  change4: number | null;
  change12: number | null;
  /** Percent; null if unknown. */
  clickShare: number | null;
  conversionShare: number | null;
  /** YYYY-MM-DD. */
  firstSeen: string;
  /** The brands of its three products; absent in rows of answers. */
  brands?: string[];
}

/** The week of a site. Its tables are named with their schema, so any connection reads them. */
interface SiteWeek {
  isTest: boolean;
  domain: number;
  week: string;
}

const schemaOf = (isTest: boolean) => (isTest ? TEST_REPORTS.search_path : 'public');

/** Returns what a week says about some terms, by their ids; null if it is not loaded. It is one scan of the table of the week. */
export async function termFigures(
  database: Queryable,
  { isTest, domain, week }: SiteWeek,
  wordIds: readonly number[],
): Promise<Map<number, TermFigures> | null> {
  const schema = schemaOf(isTest);
  const { rows: loaded } = await database.query<{ week: string; screenId: string }>(
    `select week::text, screen_id::text as "screenId" from ${schema}.aba_weeks where site = $1 and week = any($2::date[])`,
    [domain, [week, addDays(week, -FIRST_CHANGE_DAYS), addDays(week, -SECOND_CHANGE_DAYS)]],
  );
  const site = siteOfDomain(domain) as ReportSite;
  const id = loaded.find((one) => one.week === week)?.screenId;
  if (!id) return null;
  const changeOf = (column: string, days: number) =>
    loaded.some((one) => one.week === addDays(week, -days))
      ? `nullif(r.${column}, ${UNKNOWN_CHANGE})`
      : 'null::integer';
  const { rows } = await database.query<TermFigures>(
    `select t.id as "wordId", t.term as keyword, r.rank, ${changeOf('change4', FIRST_CHANGE_DAYS)} as change4,
       ${changeOf('change12', SECOND_CHANGE_DAYS)} as change12, nullif(r.click_sum, -1) / 100.0::float8 as "clickShare",
       nullif(r.conv_sum, -1) / 100.0::float8 as "conversionShare", t.first_seen::text as "firstSeen",
       array(select distinct l.name from ${schema}.aba_labels l where l.id in (r.brand1, r.brand2, r.brand3)) as brands
     from ${schema}.aba_screens_${site}_${id} r
       join ${schema}.aba_terms_${site} t on t.id = r.term_id and t.site = ${REPORT_SITES[site].domain}
     where r.term_id = any($1::integer[])`,
    [wordIds],
  );
  return new Map(rows.map((row) => [row.wordId, row]));
}

/** The newest week of each site that can be screened, as SQL: site, week, is_test. $1 is the provider of the reports. */
export const NEWEST_SCREENS = `
  select site, max(week) as week, false as is_test from public.aba_weeks
  where $1 = (select provider from public.aba_provider) group by site
  union all
  select site, max(week), true from ${TEST_REPORTS.search_path}.aba_weeks group by site`;
