import { type ChildProcess, spawn } from 'node:child_process';
import { on } from 'node:events';
import { createInterface } from 'node:readline';
import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import { programArguments } from '../../platform/project.ts';

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

export function startReportGenerator(
  folder: string,
  wanted: readonly SiteWeek[],
  terms: number,
): ReportGenerator {
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
  // Attached at once, because Node discards unread lines when the process ends.
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
