import {
  deleteFinishedFetches,
  dueWeeks,
  fetchWeek,
  type MissingWeek,
  pauseAfter,
  saveFetchFailure,
  wantedWeeks,
} from '../../src/brand-analytics/fetch-week.ts';
import { ReportError } from '../../src/brand-analytics/import/report.ts';
import { lastEndedWeek, type ReportSite } from '../../src/operations/brand-analytics/keywords.ts';
import type { Providers } from '../../src/operations/pools.ts';
import { addDays } from '../../src/platform/calendar.ts';
import { type Clock, startWorkLoop } from '../../src/platform/clock.ts';
import { openDatabase, STATEMENT_LIMITS } from '../../src/platform/db/pool.ts';
import { MINUTE_MS } from '../../src/platform/durations.ts';
import type { Logger } from '../../src/platform/log.ts';
import { type Credentials, ProviderRefusal } from '../../src/upstream/selling-partner/report-provider.ts';

export interface ReportFetchSettings {
  credentials: Credentials;
  sites: readonly ReportSite[];
}

const LOOK_EVERY_MS = MINUTE_MS;

/** An import uses three connections and the lock one; one is spare. */
const CONNECTIONS = 5;

/** Weeks older than this are not requested any more, so their rows are deleted. */
const KEPT_DAYS = 70;

/**
 * Fetches the weekly reports of some sites when they become available, one after the other. Any number of processes
 * can run this; the one that holds the lock fetches, and the lock ends with its connection.
 */
export async function openReportFetches(
  { credentials, sites }: ReportFetchSettings,
  {
    databaseUrl,
    providers,
    clock,
    log,
  }: { databaseUrl: string; providers: Providers; clock: Clock; log: Logger },
): Promise<{ close(): Promise<void> }> {
  // Imported here, so that a worker that fetches no reports does not load the client.
  const { openSellingPartner } = await import('../../src/upstream/selling-partner/selling-partner.ts');
  const provider = openSellingPartner(credentials, clock);
  const database = openDatabase(databaseUrl, log, { max: CONNECTIONS, limits: STATEMENT_LIMITS.unlimited });
  const closing = new AbortController();

  const loop = startWorkLoop(clock, 'report step', LOOK_EVERY_MS, () =>
    fetchWithLock().catch((error: unknown) => {
      if (!closing.signal.aborted) log.warn({ err: error }, 'failed to check for missing weekly reports');
    }),
  );

  async function fetchWithLock(): Promise<void> {
    const client = await database.connect();
    // A process that loses its connection has lost the lock, so it stops before another starts the same fetch.
    const lost = new AbortController();
    client.once('error', () => lost.abort());
    try {
      const { rows } = await client.query<{ locked: boolean }>(
        "select pg_try_advisory_lock(hashtext('souk.aba.fetch')) as locked",
      );
      if (rows[0]?.locked) await fetchDue(AbortSignal.any([closing.signal, lost.signal]));
    } finally {
      // The lock goes with the connection.
      client.release(true);
    }
  }

  async function fetchDue(signal: AbortSignal): Promise<void> {
    await deleteFinishedFetches(database, addDays(lastEndedWeek(clock.now()), -KEPT_DAYS));
    for (const missing of await dueWeeks(database, wantedWeeks(sites, clock.now()), clock.now())) {
      signal.throwIfAborted();
      await attempt({ database, provider, providers, clock, log }, missing, signal);
    }
  }

  loop.wake();
  return {
    async close() {
      closing.abort(new Error('the worker ends'));
      await loop.close();
      await provider.close();
      await database.end();
    },
  };
}

type AttemptDeps = Parameters<typeof fetchWeek>[0] & { log: Logger };

/** Fetches a week, or records when it is fetched again. */
async function attempt(deps: AttemptDeps, { site, week, attempts }: MissingWeek, signal: AbortSignal) {
  const { database, clock, log } = deps;
  const reason = await fetchWeek(deps, { site, week, signal }).then(
    (outcome) => {
      if (outcome.kind === 'failed') return outcome.reason;
      if (outcome.kind === 'empty') return 'the provider has no data for this week';
      const { terms, warnings } = outcome.result;
      log.info({ country: site, week, terms, warnings }, 'fetched a weekly report');
      return null;
    },
    (error: unknown) => {
      if (signal.aborted) throw error;
      if (!(error instanceof ProviderRefusal || error instanceof ReportError))
        log.warn({ err: error, country: site, week }, 'failed to fetch a weekly report');
      return error instanceof Error ? error.message : String(error);
    },
  );
  if (reason === null) return;
  const nextAttemptAt = clock.now() + pauseAfter(attempts + 1);
  await saveFetchFailure(database, { site, week }, { reason, nextAttemptAt });
  const next = new Date(nextAttemptAt).toISOString();
  log.warn({ country: site, week, reason, next }, 'a weekly report was not fetched');
}
