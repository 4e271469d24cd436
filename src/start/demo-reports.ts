import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { importWeek } from '../brand-analytics/import/import-week.ts';
import { loadedWeeks } from '../brand-analytics/weeks.ts';
import type { Database } from '../db/pool.ts';
import { addDays, lastEndedWeek } from '../keywords/report-week.ts';
import { REPORT_SITE_CODES, type ReportSite } from '../keywords/sites.ts';

const TERMS = 10_000;

/** Weeks a site has on a first start; the first site has enough for every change column. */
const WEEKS = { first: 5, others: 2 };

/**
 * Loads generated weeks for all nine sites, those of the newest that are not loaded yet, the oldest first.
 */
export async function loadDemoReports(database: Database, dataDir: string, now: number): Promise<void> {
  const missing = await missingWeeks(database, now);
  if (missing.length === 0) return;
  const folder = join(dataDir, 'demo-reports');
  await mkdir(folder, { recursive: true });
  try {
    await generate(folder, missing);
    for (const { site, week } of missing) {
      const file = createReadStream(join(folder, `${site}-${week}.csv`));
      await importWeek(database, { file, site, now });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function missingWeeks(database: Database, now: number): Promise<{ site: ReportSite; week: string }[]> {
  const newest = lastEndedWeek(now);
  const loaded = new Set((await loadedWeeks(database, null)).map(({ site, week }) => `${site}:${week}`));
  return REPORT_SITE_CODES.flatMap((site, i) => {
    const count = i === 0 ? WEEKS.first : WEEKS.others;
    return Array.from({ length: count }, (_, back) => ({
      site,
      week: addDays(newest, -7 * (count - 1 - back)),
    }));
  }).filter(({ site, week }) => !loaded.has(`${site}:${week}`));
}

/** The generator is part of the demo provider, and a process of its own. */
async function generate(folder: string, weeks: readonly { site: ReportSite; week: string }[]): Promise<void> {
  const wanted = weeks.map(({ site, week }) => `${site}:${week}`);
  const program = ['--import', import.meta.resolve('tsx'), 'src/upstream/demo/reports/main.ts'];
  const child = spawn(process.execPath, [...program, folder, String(TERMS), ...wanted], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const code = await new Promise((resolve, reject) => child.once('exit', resolve).once('error', reject));
  if (code !== 0) throw new Error(`Generating the demo reports ended with ${String(code)}.`);
}
