import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { importWeek } from '../brand-analytics/import/import-week.ts';
import { claimReports } from '../brand-analytics/import/stored-provider.ts';
import { loadedWeeks } from '../brand-analytics/weeks.ts';
import { addDays, lastEndedWeek } from '../operations/brand-analytics/keywords/report-week.ts';
import { REPORT_SITE_CODES, type ReportSite } from '../operations/brand-analytics/keywords/sites.ts';
import { DEMO } from '../operations/providers.ts';
import { type Database, openDatabase, STATEMENT_LIMITS } from '../platform/db/pool.ts';
import { createLogger } from '../platform/log.ts';
import { type ReportGenerator, type SiteWeek, startReportGenerator } from './report-generator.ts';

/** Weeks of each site on a first start. The first site has enough weeks for all change columns. */
const WEEKS = { first: 5, others: 2 };

/**
 * Settings that make loading faster. Statistics of so few terms need no large sample, and the next start generates a
 * week again that is lost in a power failure.
 */
const QUICK = '-c default_statistics_target=10 -c synchronous_commit=off';

/** Loads generated weeks of all sites into the database. */
export interface DemoReports {
  /**
   * Loads the missing weeks, one site after the other, oldest week first. A week is loaded while the next is generated.
   * Both promises reject when loading fails, so the caller must handle both at once.
   */
  load(databaseUrl: string): {
    /** Resolves when the first site has all its weeks. */
    first: Promise<void>;
    all: Promise<void>;
  };
  /** Stops loading between two weeks, and generating at once. */
  stop(): Promise<void>;
}

/**
 * @param options.ahead whether no week is loaded yet: then all are generated while the database is created.
 * @param options.now Unix milliseconds.
 * @param options.terms of each week.
 */
export async function openDemoReports(options: {
  dataDir: string;
  now: number;
  ahead: boolean;
  terms: number;
}): Promise<DemoReports> {
  const folder = join(options.dataDir, 'demo-reports');
  const wanted = weeksUntil(lastEndedWeek(options.now));
  const stopping = new AbortController();
  let generator: ReportGenerator | null = null;
  let loading: Promise<unknown> = Promise.resolve();
  const generate = async (weeks: readonly SiteWeek[]) => {
    // A killed start may have left files.
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    generator = startReportGenerator(folder, weeks, options.terms);
    return generator;
  };
  const ahead = options.ahead ? await generate(wanted) : null;

  /** @param onSite called with each site before its weeks are loaded. */
  async function load(database: Database, onSite: (site: ReportSite) => void): Promise<void> {
    try {
      await claimReports(database, DEMO);
      const missing = await missingOf(wanted, database);
      if (missing.length === 0) return;
      stopping.signal.throwIfAborted();
      const { weeks } = ahead ?? (await generate(missing));
      for await (const { site, week } of weeks()) {
        stopping.signal.throwIfAborted();
        onSite(site);
        const file = createReadStream(join(folder, `${site}-${week}.csv`));
        await importWeek(database, { file, site, provider: DEMO, now: options.now });
      }
    } finally {
      await generator?.stop();
      await rm(folder, { recursive: true, force: true });
      await database.end();
    }
  }

  return {
    load(databaseUrl) {
      const url = new URL(databaseUrl);
      url.searchParams.set('options', QUICK);
      const database = openDatabase(url.href, createLogger('silent'), {
        max: 4,
        limits: STATEMENT_LIMITS.unlimited,
      });
      let resolveFirst = () => {};
      const isFirstLoaded = new Promise<void>((resolve) => {
        resolveFirst = resolve;
      });
      const all = load(database, (site) => {
        if (site !== REPORT_SITE_CODES[0]) resolveFirst();
      });
      loading = all.catch(() => {});
      return { first: Promise.race([isFirstLoaded, all]), all };
    },
    async stop() {
      stopping.abort();
      await generator?.stop();
      await loading;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function weeksUntil(newest: string): SiteWeek[] {
  return REPORT_SITE_CODES.flatMap((site) => {
    const count = site === REPORT_SITE_CODES[0] ? WEEKS.first : WEEKS.others;
    return Array.from({ length: count }, (_, i) => ({ site, week: addDays(newest, -7 * (count - 1 - i)) }));
  });
}

async function missingOf(wanted: readonly SiteWeek[], database: Database): Promise<SiteWeek[]> {
  const loaded = new Set(
    (await loadedWeeks(database, DEMO, null)).map(({ site, week }) => `${site}:${week}`),
  );
  return wanted.filter(({ site, week }) => !loaded.has(`${site}:${week}`));
}
