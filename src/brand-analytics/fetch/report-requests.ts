import { REPORT_SITES, type ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import type { Database } from '../../platform/db/pool.ts';

/** A week that is not loaded, and when to request its report. */
export interface MissingWeek {
  site: ReportSite;
  week: string;
  /** Number of failed attempts. */
  attempts: number;
}

const numberOf = (site: ReportSite) => REPORT_SITES[site].domain;

/** Returns the report that was requested for a week but is not loaded yet. */
export async function requestedReport(
  database: Database,
  site: ReportSite,
  week: string,
): Promise<string | null> {
  const { rows } = await database.query<{ reportId: string | null }>(
    'select report_id as "reportId" from aba_fetches where site = $1 and week = $2',
    [numberOf(site), week],
  );
  return rows[0]?.reportId ?? null;
}

export async function saveReportRequest(
  database: Database,
  { site, week, reportId, now }: { site: ReportSite; week: string; reportId: string; now: number },
): Promise<void> {
  await database.query(
    `insert into aba_fetches (site, week, report_id, next_attempt_at) values ($1, $2, $3, $4)
      on conflict (site, week) do update set report_id = excluded.report_id`,
    [numberOf(site), week, reportId, new Date(now)],
  );
}

export async function deleteReportRequest(database: Database, site: ReportSite, week: string): Promise<void> {
  await database.query('update aba_fetches set report_id = null where site = $1 and week = $2', [
    numberOf(site),
    week,
  ]);
}

/** Returns the weeks of a list that are not loaded and whose next attempt is due, in the order of the list. */
export async function dueWeeks(
  database: Database,
  wanted: readonly { site: ReportSite; week: string }[],
  now: number,
): Promise<MissingWeek[]> {
  const { rows } = await database.query<{ site: number; week: string; attempts: number }>(
    `select w.site, w.week::text, coalesce(f.attempts, 0) as attempts
      from unnest($1::smallint[], $2::date[]) as w (site, week)
      left join aba_fetches f on f.site = w.site and f.week = w.week
      where not exists (select from aba_weeks a where a.site = w.site and a.week = w.week)
        and coalesce(f.next_attempt_at <= $3, true)`,
    [wanted.map(({ site }) => numberOf(site)), wanted.map(({ week }) => week), new Date(now)],
  );
  return wanted.flatMap(({ site, week }) => {
    const row = rows.find((one) => one.site === numberOf(site) && one.week === week);
    return row ? [{ site, week, attempts: row.attempts }] : [];
  });
}

/** Stores a failed attempt. */
export async function saveFetchFailure(
  database: Database,
  { site, week }: { site: ReportSite; week: string },
  { reason, nextAttemptAt }: { reason: string; nextAttemptAt: number },
): Promise<void> {
  await database.query(
    `insert into aba_fetches (site, week, attempts, next_attempt_at, reason) values ($1, $2, 1, $3, $4)
      on conflict (site, week) do update set attempts = aba_fetches.attempts + 1,
        next_attempt_at = excluded.next_attempt_at, reason = excluded.reason`,
    [numberOf(site), week, new Date(nextAttemptAt), reason],
  );
}

/** Deletes the rows of weeks that are loaded, or too old to be requested. */
export async function deleteFinishedFetches(database: Database, oldest: string): Promise<void> {
  await database.query(
    `delete from aba_fetches f where week < $1
      or exists (select from aba_weeks a where a.site = f.site and a.week = f.week)`,
    [oldest],
  );
}
