import { lastEndedWeek, REPORT_SITES, type ReportSite } from '../operations/brand-analytics/keywords.ts';
import type { Providers } from '../operations/pools.ts';
import { addDays } from '../platform/calendar.ts';
import { type Clock, sleep } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../platform/durations.ts';
import { downloadDocument, readFault } from '../upstream/selling-partner/download.ts';
import {
  ProviderRefusal,
  type ReportProvider,
  type ReportState,
} from '../upstream/selling-partner/report-provider.ts';
import { claimReports, type ImportResult, type ImportStage, importWeek } from './import/import-week.ts';

/** Number of newest weeks that are fetched automatically; `souk aba fetch` fetches older ones. */
const WEEKS_BACK = 4;

/** No report is ready before the Sunday evening (UTC) after its week. */
const READY_AFTER_MS = 42 * HOUR_MS;

const FIRST_PAUSE_MS = HOUR_MS;
const LONGEST_PAUSE_MS = DAY_MS;

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

async function saveReportRequest(
  database: Database,
  { site, week, reportId, now }: { site: ReportSite; week: string; reportId: string; now: number },
): Promise<void> {
  await database.query(
    `insert into aba_fetches (site, week, report_id, next_attempt_at) values ($1, $2, $3, $4)
      on conflict (site, week) do update set report_id = excluded.report_id`,
    [numberOf(site), week, reportId, new Date(now)],
  );
}

async function deleteReportRequest(database: Database, site: ReportSite, week: string): Promise<void> {
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

/** The outcome of an attempt to fetch a week. A reason is the end of a sentence. */
export type FetchOutcome =
  | { kind: 'loaded'; result: ImportResult }
  /** The provider has created no report: the week is not ready yet, or the request was invalid. */
  | { kind: 'failed'; reason: string }
  /** The provider has no data for this week. */
  | { kind: 'empty' };

export interface FetchRequest {
  site: ReportSite;
  /** Its Saturday, YYYY-MM-DD. */
  week: string;
  signal: AbortSignal;
  onProgress?(progress: FetchProgress): void;
}

type FetchProgress =
  | { stage: 'waiting'; status: ReportState['status'] }
  /** `size` is the size of the document in bytes, or 0 if it is unknown. */
  | { stage: ImportStage; rows: number; bytes: number; size: number };

interface FetchDeps {
  database: Database;
  provider: ReportProvider;
  providers: Pick<Providers, 'products' | 'reports'>;
  clock: Clock;
}

/** The pauses between checks of a report's state grow from the first to the longest. A report takes a minute to an hour. */
const FIRST_CHECK_PAUSE_MS = 5_000;
const LONGEST_CHECK_PAUSE_MS = MINUTE_MS;
const GIVE_UP_MS = 3 * HOUR_MS;

/**
 * Requests the report of a week, waits for it, and imports it while it downloads. Continues with a report that was
 * requested earlier but not loaded. An error leaves the stored weeks unchanged.
 * @throws ProviderRefusal if the provider cannot be used, ReportError if the report is invalid or cannot be stored.
 */
export async function fetchWeek(deps: FetchDeps, request: FetchRequest): Promise<FetchOutcome> {
  const { database, provider } = deps;
  const { site, week, signal } = request;
  await claimReports(database, deps.providers.reports);
  let reportId = await requestedReport(database, site, week);
  if (reportId === null) {
    reportId = await provider.requestReport(site, week, signal);
    await saveReportRequest(database, { site, week, reportId, now: deps.clock.now() });
  }
  let canContinueLater = false;
  try {
    return await outcomeOf(deps, request, await finalState(deps, request, reportId));
  } catch (error) {
    canContinueLater = signal.aborted || (error instanceof ProviderRefusal && error.mayPass);
    throw error;
  } finally {
    if (!canContinueLater) await deleteReportRequest(database, site, week);
  }
}

async function outcomeOf(
  deps: FetchDeps,
  request: FetchRequest,
  { status, documentId }: ReportState,
): Promise<FetchOutcome> {
  const { site, week, signal, onProgress } = request;
  if (status === 'CANCELLED') return { kind: 'empty' };
  const document = documentId === null ? null : { site, documentId };
  if (status === 'FATAL')
    return {
      kind: 'failed',
      reason: document ? await readFault(deps, document, signal) : 'the provider gave no reason',
    };
  if (!document) throw new ProviderRefusal('The report is complete but has no document.');

  let size = 0;
  let bytes = 0;
  const file = downloadDocument(deps, document, signal, (received, total) => {
    bytes = received;
    size = total;
  });
  const result = await importWeek(deps.database, {
    file,
    site,
    week,
    provider: deps.providers.reports,
    labelsFrom: deps.providers.products,
    now: deps.clock.now(),
    onProgress: ({ rows, stage }) => onProgress?.({ stage, rows, bytes, size }),
  });
  return { kind: 'loaded', result };
}

/** Waits for the final state of a report. */
async function finalState(
  { provider, clock }: FetchDeps,
  { site, signal, onProgress }: FetchRequest,
  reportId: string,
): Promise<ReportState> {
  const giveUpAt = clock.now() + GIVE_UP_MS;
  let pauseMs = FIRST_CHECK_PAUSE_MS;
  for (;;) {
    const state = await provider.state(site, reportId, signal);
    if (state.status !== 'IN_QUEUE' && state.status !== 'IN_PROGRESS') return state;
    if (clock.now() >= giveUpAt)
      throw new ProviderRefusal(`The report is still ${state.status} after ${GIVE_UP_MS / HOUR_MS} hours.`);
    onProgress?.({ stage: 'waiting', status: state.status });
    await sleep(clock, pauseMs, signal);
    pauseMs = Math.min(pauseMs * 1.5, LONGEST_CHECK_PAUSE_MS);
  }
}
