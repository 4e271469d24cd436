import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import type { Providers } from '../../operations/providers.ts';
import { type Clock, sleep } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { downloadDocument, readFault } from '../../upstream/selling-partner/download.ts';
import { ProviderRefusal } from '../../upstream/selling-partner/provider-refusal.ts';
import type { ReportProvider, ReportState } from '../../upstream/selling-partner/report-provider.ts';
import { type ImportResult, type ImportStage, importWeek } from '../import/import-week.ts';
import { claimReports } from '../import/stored-provider.ts';
import { deleteReportRequest, requestedReport, saveReportRequest } from './report-requests.ts';

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

export type FetchProgress =
  | { stage: 'waiting'; status: ReportState['status'] }
  /** `size` is the size of the document in bytes, or 0 if it is unknown. */
  | { stage: ImportStage; rows: number; bytes: number; size: number };

export interface FetchDeps {
  database: Database;
  provider: ReportProvider;
  providers: Pick<Providers, 'products' | 'reports'>;
  clock: Clock;
}

/**
 * The pauses between checks of a report's state grow from the first to the longest. A report takes a minute to an
 * hour.
 */
const FIRST_CHECK_PAUSE_MS = 5_000;
const LONGEST_CHECK_PAUSE_MS = 60_000;
const GIVE_UP_MS = 3 * 3_600_000;

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
      throw new ProviderRefusal(`The report is still ${state.status} after ${GIVE_UP_MS / 3_600_000} hours.`);
    onProgress?.({ stage: 'waiting', status: state.status });
    await sleep(clock, pauseMs, signal);
    pauseMs = Math.min(pauseMs * 1.5, LONGEST_CHECK_PAUSE_MS);
  }
}
