import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  compareWeeks,
  generateInto,
  importGenerated,
  newestWeeks,
  openForGenerated,
  type ReportGenerator,
  WEEK_COUNTS,
  type WeekCounts,
} from '../../src/brand-analytics/generated-weeks.ts';
import { claimReports } from '../../src/brand-analytics/import/import-week.ts';
import { dropWeek } from '../../src/brand-analytics/import/publish.ts';
import { TEST_REPORTS } from '../../src/brand-analytics/weeks.ts';
import { TEST_PROVIDERS } from '../../src/operations/pools.ts';
import { type Clock, startWorkLoop } from '../../src/platform/clock.ts';
import { type Renew, withLease } from '../../src/platform/db/lease.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { DAY_MS, MINUTE_MS } from '../../src/platform/durations.ts';
import type { Logger } from '../../src/platform/log.ts';

/** The size of the generated reports of test keys. */
export interface TestReportsSize {
  weeks: WeekCounts;
  /** Terms of each week. */
  terms: number;
}

export const TEST_REPORTS_SIZE: TestReportsSize = { weeks: WEEK_COUNTS, terms: 2_000 };

interface TestReportsDeps {
  databaseUrl: string;
  /** For the lease. */
  database: Database;
  /** Connections to the generated reports. */
  reports: Database;
  size: TestReportsSize;
  clock: Clock;
  log: Logger;
}

const LOOK_EVERY_MS = MINUTE_MS;
const NOTES_KEPT_DAYS = 400;

/**
 * Keeps the newest generated weeks loaded for test keys, from the start of the first worker on, and deletes older ones. One process
 * at a time does it.
 */
export function openTestReports(deps: TestReportsDeps): { close(): Promise<void> } {
  const { database, clock, log } = deps;
  const closing = new AbortController();
  const lease = { name: 'test-reports', pauseMs: 0 };
  const loop = startWorkLoop(clock, 'test reports step', LOOK_EVERY_MS, () =>
    step().catch((error: unknown) => {
      if (!closing.signal.aborted) log.warn({ err: error }, 'failed to load the reports of test keys');
    }),
  );

  async function step(): Promise<void> {
    const { missing, superfluous } = await compare(deps);
    if (missing.length + superfluous.length === 0) return;
    await withLease(database, clock, lease, (renew) => follow(deps, closing.signal, renew));
  }

  loop.wake();
  return {
    async close() {
      closing.abort(new Error('the worker ends'));
      await loop.close();
    },
  };
}

function compare({ reports, size, clock }: Pick<TestReportsDeps, 'reports' | 'size' | 'clock'>) {
  return compareWeeks(reports, TEST_PROVIDERS.reports, newestWeeks(clock.now(), size.weeks));
}

/** Loads the missing weeks, and deletes the superfluous ones. */
async function follow(deps: TestReportsDeps, signal: AbortSignal, renew: Renew): Promise<void> {
  const { databaseUrl, size, clock, log } = deps;
  const importing = openForGenerated(databaseUrl, TEST_REPORTS);
  const folder = await mkdtemp(join(tmpdir(), 'souk-test-reports-'));
  let generator: ReportGenerator | null = null;
  // The generator may work on a week for as long as it likes, so it ends with the worker immediately.
  const stopGenerator = () => void generator?.stop();
  signal.addEventListener('abort', stopGenerator);
  try {
    await claimReports(importing, TEST_PROVIDERS.reports);
    // Compared again, because another process may have loaded some meanwhile.
    const { missing, superfluous } = await compare({ ...deps, reports: importing });
    for (const { site, week } of superfluous) await dropWeek(importing, site, week);
    await importing.query('delete from aba_imports where started_at < $1', [
      new Date(clock.now() - NOTES_KEPT_DAYS * DAY_MS),
    ]);
    if (missing.length === 0) return;
    generator = await generateInto(folder, missing, size.terms);
    await importGenerated(importing, generator, {
      folder,
      provider: TEST_PROVIDERS.reports,
      now: clock.now(),
      async before() {
        signal.throwIfAborted();
        if (!(await renew())) throw new Error('another process loads the reports');
      },
    });
    log.info({ weeks: missing.length, terms: size.terms }, 'loaded the reports of test keys');
  } finally {
    signal.removeEventListener('abort', stopGenerator);
    await generator?.stop();
    await rm(folder, { recursive: true, force: true });
    await importing.end();
  }
}
