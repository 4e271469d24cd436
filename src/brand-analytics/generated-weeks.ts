import { type ChildProcess, spawn } from 'node:child_process';
import { on } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { lastEndedWeek, REPORT_SITE_CODES, type ReportSite } from '../operations/brand-analytics/keywords.ts';
import { addDays } from '../platform/calendar.ts';
import { type Database, openDatabase, STATEMENT_LIMITS } from '../platform/db/pool.ts';
import { createLogger } from '../platform/log.ts';
import { programArguments } from '../platform/project.ts';
import { importWeek } from './import/import-week.ts';
import { loadedWeeks } from './weeks.ts';

export interface SiteWeek {
  site: ReportSite;
  /** Its Saturday, YYYY-MM-DD. */
  week: string;
}

/**
 * A generator of reports, which writes to a folder. It is part of the demo provider and a separate process, which receives no
 * settings of this process.
 */
export interface ReportGenerator {
  /** Yields each week when its file is complete, in the requested order. Can be read once. */
  weeks(): AsyncGenerator<SiteWeek>;
  /** Stops the generator at any time. */
  stop(): Promise<void>;
}

function startReportGenerator(folder: string, wanted: readonly SiteWeek[], terms: number): ReportGenerator {
  const program = programArguments('demo/reports/main.ts');
  const names = wanted.map(({ site, week }) => `${site}:${week}`);
  const { PATH, NODE_ENV } = process.env;
  const child = spawn(process.execPath, [...program, folder, String(terms), ...names], {
    env: { ...(PATH ? { PATH } : {}), ...(NODE_ENV ? { NODE_ENV } : {}) },
    stdio: ['ignore', 'pipe', 'inherit'],
    // The generator has its own session, so that Ctrl-C in a terminal reaches only this process.
    detached: true,
  });
  const ended = endOf(child);
  // Attached immediately, because Node discards unread lines when the process ends.
  const lines = on(createInterface({ input: child.stdout }), 'line', { close: ['close'] });
  return {
    async *weeks() {
      let done = 0;
      for await (const _ of lines) {
        const week = wanted[done];
        if (week) yield week;
        done += 1;
      }
      const how = await ended;
      if (how !== 0) throw new Error(`Generating the demo reports ended with ${String(how)}.`);
    },
    async stop() {
      child.kill();
      await ended;
    },
  };
}

/** Returns its exit code, its signal, or the error that prevented its start. */
function endOf(child: ChildProcess): Promise<number | string | Error | null> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal));
    child.once('error', resolve);
  });
}

/**
 * Settings that make loading faster. Statistics of so few terms need no large sample, and a week that is lost in a power failure
 * is generated again.
 */
const QUICK = { default_statistics_target: '10', synchronous_commit: 'off' };

/** An import uses three connections and its notes one. */
const CONNECTIONS = 4;

/** Opens a database for the import of generated weeks. @param session further settings of PostgreSQL. */
export function openForGenerated(
  databaseUrl: string,
  session: Readonly<Record<string, string>> = {},
): Database {
  return openDatabase(databaseUrl, createLogger('silent'), {
    max: CONNECTIONS,
    limits: STATEMENT_LIMITS.unlimited,
    session: { ...QUICK, ...session },
  });
}

/** The number of generated weeks: of the first site, and of each other. */
export interface WeekCounts {
  first: number;
  others: number;
}

/** The first site has enough weeks for all change columns. */
export const WEEK_COUNTS: WeekCounts = { first: 5, others: 2 };

/** Returns the newest weeks of all sites, site by site, the oldest first. @param now Unix milliseconds. */
export function newestWeeks(now: number, { first, others }: WeekCounts): SiteWeek[] {
  const newest = lastEndedWeek(now);
  return REPORT_SITE_CODES.flatMap((site) => {
    const count = site === REPORT_SITE_CODES[0] ? first : others;
    return Array.from({ length: count }, (_, i) => ({ site, week: addDays(newest, -7 * (count - 1 - i)) }));
  });
}

/** Compares the weeks that are wanted with those that are loaded. */
export async function compareWeeks(
  database: Database,
  provider: string,
  wanted: readonly SiteWeek[],
): Promise<{ missing: SiteWeek[]; superfluous: SiteWeek[] }> {
  const loaded = await loadedWeeks(database, provider, null);
  const without = (weeks: readonly SiteWeek[], others: readonly SiteWeek[]) => {
    const names = new Set(others.map(nameOf));
    return weeks.filter((one) => !names.has(nameOf(one))).map(({ site, week }) => ({ site, week }));
  };
  return { missing: without(wanted, loaded), superfluous: without(loaded, wanted) };
}

const nameOf = ({ site, week }: SiteWeek) => `${site}:${week}`;

/** Starts generating weeks into a folder, which is emptied: a killed process may have left files. */
export async function generateInto(
  folder: string,
  weeks: readonly SiteWeek[],
  terms: number,
): Promise<ReportGenerator> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  return startReportGenerator(folder, weeks, terms);
}

/**
 * Imports weeks in the order in which they are generated: a week is imported while the next is generated. The tables must have been
 * claimed for the provider.
 * @param request.before called before each week; it may throw to end the import between two weeks.
 */
export async function importGenerated(
  database: Database,
  generator: ReportGenerator,
  request: {
    folder: string;
    provider: string;
    now: number;
    before(week: SiteWeek): void | Promise<void>;
  },
): Promise<void> {
  const { folder, provider, now } = request;
  for await (const { site, week } of generator.weeks()) {
    await request.before({ site, week });
    const path = join(folder, `${site}-${week}.csv`);
    await importWeek(database, { file: createReadStream(path), site, provider, now });
    await rm(path);
  }
}
