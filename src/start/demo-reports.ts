import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  compareWeeks,
  generateInto,
  importGenerated,
  newestWeeks,
  openForGenerated,
  type ReportGenerator,
  type SiteWeek,
  WEEK_COUNTS,
} from '../brand-analytics/generated-weeks.ts';
import { claimReports } from '../brand-analytics/import/import-week.ts';
import { REPORT_SITE_CODES, type ReportSite } from '../operations/brand-analytics/keywords.ts';
import { DEMO } from '../operations/pools.ts';
import type { Database } from '../platform/db/pool.ts';

/** Loads generated weeks of all sites into the database. */
export interface DemoReports {
  /**
   * Loads the missing weeks, one site after the other, oldest week first. A week is loaded while the next is generated.
   * Both promises reject when loading fails, so the caller must handle both at the same time.
   */
  load(databaseUrl: string): {
    /** Resolves when the first site has all its weeks. */
    first: Promise<void>;
    all: Promise<void>;
  };
  /** Stops loading after the present week, and generating immediately. */
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
  const { now } = options;
  const wanted = newestWeeks(now, WEEK_COUNTS);
  const stopping = new AbortController();
  let generator: ReportGenerator | null = null;
  let loading: Promise<unknown> = Promise.resolve();
  const generate = async (weeks: readonly SiteWeek[]) => {
    generator = await generateInto(folder, weeks, options.terms);
    return generator;
  };
  const ahead = options.ahead ? await generate(wanted) : null;

  /** @param onSite called with each site before its weeks are loaded. */
  async function load(database: Database, onSite: (site: ReportSite) => void): Promise<void> {
    try {
      await claimReports(database, DEMO);
      const { missing } = await compareWeeks(database, DEMO, wanted);
      if (missing.length === 0) return;
      stopping.signal.throwIfAborted();
      await importGenerated(database, ahead ?? (await generate(missing)), {
        folder,
        provider: DEMO,
        now,
        before({ site }) {
          stopping.signal.throwIfAborted();
          onSite(site);
        },
      });
    } finally {
      await generator?.stop();
      await rm(folder, { recursive: true, force: true });
      await database.end();
    }
  }

  return {
    load(databaseUrl) {
      const database = openForGenerated(databaseUrl);
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
