import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { importWeek } from '../brand-analytics/import/import-week.ts';
import { loadedWeeks } from '../brand-analytics/weeks.ts';
import { addDays, lastEndedWeek } from '../operations/brand-analytics/keywords/report-week.ts';
import { REPORT_SITE_CODES, type ReportSite } from '../operations/brand-analytics/keywords/sites.ts';
import { type Database, openDatabase } from '../platform/db/pool.ts';
import { createLogger } from '../platform/log.ts';
import { type ReportGenerator, type SiteWeek, startReportGenerator } from './report-generator.ts';

const TERMS = 10_000;

/** Weeks a site has on a first start; the first site has enough for every change column. */
const WEEKS = { first: 5, others: 2 };

/**
 * What loading them is quicker with. The statistics of so few terms need no large sample, and a week that is lost with
 * the power is generated anew by the next start.
 */
const QUICK = '-c default_statistics_target=10 -c synchronous_commit=off';

/** Generated weeks of all sites, on their way into the database. */
export interface DemoReports {
  /**
   * Loads those that are missing: site after site, the oldest week first. A week is loaded while the next is being
   * generated. Neither promise fails before both are looked at.
   */
  load(databaseUrl: string): {
    /** The first site has all its weeks. */
    first: Promise<void>;
    all: Promise<void>;
  };
  /** Ends the loading between two weeks, and the generating at once. */
  stop(): Promise<void>;
}

/**
 * @param options.ahead whether none is loaded yet: then all are generated while the database is still being made.
 * @param options.now Unix milliseconds.
 */
export async function openDemoReports(options: {
  dataDir: string;
  now: number;
  ahead: boolean;
}): Promise<DemoReports> {
  const folder = join(options.dataDir, 'demo-reports');
  const wanted = weeksUntil(lastEndedWeek(options.now));
  const stopping = new AbortController();
  let generator: ReportGenerator | null = null;
  let loading: Promise<unknown> = Promise.resolve();
  const generate = async (weeks: readonly SiteWeek[]) => {
    // An earlier start that was killed may have left some.
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    generator = startReportGenerator(folder, weeks, TERMS);
    return generator;
  };
  const ahead = options.ahead ? await generate(wanted) : null;

  /** @param onSite hears of each site whose turn it is. */
  async function load(database: Database, onSite: (site: ReportSite) => void): Promise<void> {
    try {
      const missing = await missingOf(wanted, database);
      if (missing.length === 0) return;
      stopping.signal.throwIfAborted();
      const { weeks } = ahead ?? (await generate(missing));
      for await (const { site, week } of weeks()) {
        stopping.signal.throwIfAborted();
        onSite(site);
        const file = createReadStream(join(folder, `${site}-${week}.csv`));
        await importWeek(database, { file, site, now: options.now });
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
      const database = openDatabase(url.href, createLogger('silent'), { max: 4 });
      let tellFirst = () => {};
      const isFirstLoaded = new Promise<void>((resolve) => {
        tellFirst = resolve;
      });
      const all = load(database, (site) => {
        if (site !== REPORT_SITE_CODES[0]) tellFirst();
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
  const loaded = new Set((await loadedWeeks(database, null)).map(({ site, week }) => `${site}:${week}`));
  return wanted.filter(({ site, week }) => !loaded.has(`${site}:${week}`));
}
