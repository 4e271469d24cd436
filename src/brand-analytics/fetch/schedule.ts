import { addDays, lastEndedWeek } from '../../operations/brand-analytics/keywords/report-week.ts';
import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';

/** Number of newest weeks that are fetched automatically; `souk aba fetch` fetches older ones. */
const WEEKS_BACK = 4;

/** No report is ready before the Sunday evening (UTC) after its week. */
const READY_AFTER_MS = 42 * 3_600_000;

const FIRST_PAUSE_MS = 3_600_000;
const LONGEST_PAUSE_MS = 24 * 3_600_000;

/** Returns the weeks that should be available by now, with the newest week of each site first. */
export function wantedWeeks(sites: readonly ReportSite[], now: number): { site: ReportSite; week: string }[] {
  const newest = lastEndedWeek(now);
  const weeks = Array.from({ length: WEEKS_BACK }, (_, back) => addDays(newest, -7 * back)).filter(
    (week) => Date.parse(`${week}T00:00:00Z`) + READY_AFTER_MS <= now,
  );
  return weeks.flatMap((week) => sites.map((site) => ({ site, week })));
}

/** Returns how long to wait after a number of failed attempts: an hour, two, four, ... a day. */
export function pauseAfter(attempts: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), LONGEST_PAUSE_MS);
}
