import {
  nearestDates,
  REPORT_SITES,
  type ReportSite,
  type ReportsNeeded,
  siteOfDomain,
} from '../operations/brand-analytics/keywords.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { invalidParameters } from '../platform/errors.ts';

/**
 * The schema with the generated reports of test keys. Connections for them have only this schema in their search path, so that no
 * query finds a table of imported reports, or the reverse; see docs/decisions/test-reports-are-a-schema.md.
 */
export const TEST_REPORTS = { search_path: 'test_reports' } as const;

/** A loaded week. Its table never changes: a week that is imported again gets a new table. */
export interface LoadedWeek {
  site: ReportSite;
  /** Its Saturday, YYYY-MM-DD. */
  week: string;
  importId: number;
  terms: number;
  lastRank: number;
  /** Whether a row has a brand or category. */
  labelled: boolean;
  table: string;
  screen: WeekScreen;
}

/** The narrow table of a week that screens read. Like that of its ranks, it never changes. */
export interface WeekScreen {
  id: number;
  table: string;
  /** Whether its first dates may be too late, because an older week was imported since. */
  isStale: boolean;
}

/** Returns the loaded weeks of a site, or of all sites, the newest first; none if the reports are of another provider. */
export async function loadedWeeks(
  database: Queryable,
  provider: string,
  site: ReportSite | null,
): Promise<LoadedWeek[]> {
  type Row = Omit<LoadedWeek, 'site' | 'table' | 'screen'> & {
    domain: number;
    screenId: number;
    isStale: boolean;
  };
  const { rows } = await database.query<Row>({
    name: 'aba-weeks',
    text: `select site as domain, week::text, import_id as "importId", terms, last_rank as "lastRank", labelled,
        screen_id as "screenId", screen_is_stale as "isStale"
      from aba_weeks
      where ($1::smallint is null or site = $1) and $2 = (select provider from aba_provider)
      order by week desc, site`,
    values: [site && REPORT_SITES[site].domain, provider],
  });
  return rows.flatMap(({ domain, screenId: id, isStale, ...week }) => {
    const code = siteOfDomain(domain);
    if (!code) return [];
    const screen = { id, table: `aba_screens_${code}_${id}`, isStale };
    return [{ ...week, site: code, table: `aba_ranks_${code}_${week.importId}`, screen }];
  });
}

/**
 * Returns the edition of the reports that an answer is made from. It changes with each import of one of them.
 * @throws SoukError VALIDATION_FAILED if a week that is needed is not loaded, or lacks labels that are needed.
 */
export function editionOf(weeks: readonly LoadedWeek[], needed: ReportsNeeded): string {
  const { country, reportDate, parameter = 'reportDate', needsWeek = false, labels = [] } = needed;
  if (country && weeks.length === 0 && (needsWeek || reportDate !== undefined))
    throw invalidParameters([{ parameter: 'country', problem: `no report is loaded for ${country} yet` }]);
  if (reportDate !== undefined && !weeks.some(({ week }) => week === reportDate)) {
    const dates = weeks.map(({ week }) => week);
    const nearest = nearestDates(dates, reportDate, 3).join(', ');
    throw invalidParameters([
      { parameter, problem: `must be a loaded week, got ${reportDate}; nearest: ${nearest}` },
    ]);
  }
  const week = weekOf(weeks, reportDate);
  if (week && !week.labelled && labels.length > 0)
    throw invalidParameters(
      labels.map((parameter) => ({
        parameter,
        problem: `cannot be used: the report of ${week.site} for ${week.week} has no brands and categories`,
      })),
    );
  const ids = weeks.flatMap(({ importId, screen }) => [importId, screen.id]);
  return `${country ?? 'all'}-${Math.max(0, ...ids)}`;
}

/** The edition of the reports that an answer is made from, and the number of rows of the week that it is about. */
export interface Edition {
  edition: string;
  rows: number;
}

/** Returns the edition for an operation's answer at present; null for operations that need no reports. */
export async function editionFor<Input>(
  database: Queryable,
  provider: string,
  operation: { reports?(input: Input): ReportsNeeded | null },
  input: Input,
): Promise<Edition | null> {
  const needed = operation.reports?.(input);
  if (!needed) return null;
  const weeks = await loadedWeeks(database, provider, needed.country);
  const edition = editionOf(weeks, needed);
  return { edition, rows: weekOf(weeks, needed.reportDate)?.terms ?? 0 };
}

/** Returns a week by its date; without a date, the latest. */
export function weekOf(weeks: readonly LoadedWeek[], reportDate: string | undefined): LoadedWeek | undefined {
  return weeks.find(({ week }) => reportDate === undefined || week === reportDate);
}
