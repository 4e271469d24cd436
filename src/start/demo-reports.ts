import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { importWeek } from '../brand-analytics/import/import-week.ts';
import { loadedWeeks } from '../brand-analytics/weeks.ts';
import type { Database } from '../db/pool.ts';
import { addDays, lastEndedWeek } from '../keywords/report-week.ts';
import { REPORT_SITE_CODES, type ReportSite } from '../keywords/sites.ts';

const TERMS = 10_000;

/** Weeks a site has on a first start; the first site has enough for every change column. */
const WEEKS = { first: 5, others: 2 };

/** The first of these is loaded before Souk is ready, the others after. */
export const DEMO_REPORT_SITES = REPORT_SITE_CODES;

/**
 * Loads generated weeks for some sites, those of the newest that are not loaded yet, the oldest first.
 * @param signal ends it between two weeks.
 */
export async function loadDemoReports(
  database: Database,
  sites: readonly ReportSite[],
  { dataDir, now, signal }: { dataDir: string; now: number; signal: AbortSignal },
): Promise<void> {
  const missing = await missingWeeks(database, sites, now);
  if (missing.length === 0) return;
  const folder = await mkdtemp(join(dataDir, 'demo-reports-'));
  try {
    await generate(folder, missing, signal);
    for (const { site, week } of missing) {
      signal.throwIfAborted();
      const file = createReadStream(join(folder, `${site}-${week}.csv`));
      await importWeek(database, { file, site, now });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function missingWeeks(
  database: Database,
  sites: readonly ReportSite[],
  now: number,
): Promise<{ site: ReportSite; week: string }[]> {
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

/** The generator is part of the demo provider, and a process of its own. */
async function generate(
  folder: string,
  weeks: readonly { site: ReportSite; week: string }[],
  signal: AbortSignal,
): Promise<void> {
  const wanted = weeks.map(({ site, week }) => `${site}:${week}`);
  const program = ['--import', import.meta.resolve('tsx'), 'src/upstream/demo/reports/main.ts'];
  const child = spawn(process.execPath, [...program, folder, String(TERMS), ...wanted], {
    stdio: ['ignore', 'ignore', 'inherit'],
    signal,
  });
  const code = await new Promise((resolve, reject) => child.once('exit', resolve).once('error', reject));
  if (code !== 0) throw new Error(`Generating the demo reports ended with ${String(code)}.`);
}
