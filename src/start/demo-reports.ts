import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { importWeek } from '../brand-analytics/import/import-week.ts';
import { loadedWeeks } from '../brand-analytics/weeks.ts';
import type { Database } from '../db/pool.ts';
import { addDays, lastEndedWeek } from '../keywords/report-week.ts';
import { REPORT_SITE_CODES, type ReportSite } from '../keywords/sites.ts';

const TERMS = 10_000;

/** Weeks a site has on a first start; the first site has enough for every change column. */
const WEEKS = { first: 5, others: 2 };

interface SiteWeek {
  site: ReportSite;
  week: string;
}

/** Demo reports on their way into the database. Neither promise fails before both are looked at. */
export interface DemoReports {
  /** The first site has all its weeks. */
  first: Promise<void>;
  all: Promise<void>;
}

/**
 * Loads generated weeks for all sites, those of the newest that are not loaded yet: site after site, the oldest week first.
 * A week is loaded while the next is being generated.
 * @param signal ends it between two weeks.
 */
export function loadDemoReports(
  database: Database,
  options: { dataDir: string; now: number; signal: AbortSignal },
): DemoReports {
  let tellFirst = () => {};
  const isFirstLoaded = new Promise<void>((resolve) => {
    tellFirst = resolve;
  });
  const all = load(database, options, (site) => {
    if (site !== REPORT_SITE_CODES[0]) tellFirst();
  });
  return { first: Promise.race([isFirstLoaded, all]), all };
}

/** @param onSite hears of each site whose turn it is. */
async function load(
  database: Database,
  { dataDir, now, signal }: { dataDir: string; now: number; signal: AbortSignal },
  onSite: (site: ReportSite) => void,
): Promise<void> {
  const missing = await missingWeeks(database, REPORT_SITE_CODES, now);
  if (missing.length === 0) return;
  const folder = await mkdtemp(join(dataDir, 'demo-reports-'));
  try {
    for await (const { site, week } of generate(folder, missing, signal)) {
      signal.throwIfAborted();
      onSite(site);
      await importWeek(database, { file: createReadStream(fileOf(folder, site, week)), site, now });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const fileOf = (folder: string, site: ReportSite, week: string) => join(folder, `${site}-${week}.csv`);

async function missingWeeks(
  database: Database,
  sites: readonly ReportSite[],
  now: number,
): Promise<SiteWeek[]> {
  const newest = lastEndedWeek(now);
  const loaded = new Set((await loadedWeeks(database, null)).map(({ site, week }) => `${site}:${week}`));
  return sites
    .flatMap((site) => {
      const count = site === REPORT_SITE_CODES[0] ? WEEKS.first : WEEKS.others;
      return Array.from({ length: count }, (_, back) => ({
        site,
        week: addDays(newest, -7 * (count - 1 - back)),
      }));
    })
    .filter(({ site, week }) => !loaded.has(`${site}:${week}`));
}

/** Each week as soon as its file is there. The generator is part of the demo provider, and a process of its own. */
async function* generate(
  folder: string,
  weeks: readonly SiteWeek[],
  signal: AbortSignal,
): AsyncGenerator<SiteWeek> {
  const wanted = weeks.map(({ site, week }) => `${site}:${week}`);
  const program = ['--import', import.meta.resolve('tsx'), 'src/upstream/demo/reports/main.ts'];
  const child = spawn(process.execPath, [...program, folder, String(TERMS), ...wanted], {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  });
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
  try {
    let done = 0;
    for await (const _ of createInterface({ input: child.stdout })) {
      const week = weeks[done];
      if (week) yield week;
      done += 1;
    }
    signal.throwIfAborted();
    const how = await ended;
    if (how !== 0) throw new Error(`Generating the demo reports ended with ${String(how)}.`);
  } finally {
    child.kill();
    await ended;
  }
}
