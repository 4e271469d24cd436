import { type ChildProcess, spawn } from 'node:child_process';
import { on } from 'node:events';
import { createInterface } from 'node:readline';
import type { ReportSite } from '../operations/brand-analytics/keywords/sites.ts';
import { programArguments } from '../platform/program.ts';

export interface SiteWeek {
  site: ReportSite;
  /** Its Saturday, YYYY-MM-DD. */
  week: string;
}

/** Reports being written into a folder. The generator is part of the demo provider, and a process of its own. */
export interface ReportGenerator {
  /** Each week as soon as its file is there, in the order they were asked for; to be read once. */
  weeks(): AsyncGenerator<SiteWeek>;
  /** Ends it, wherever it is. */
  stop(): Promise<void>;
}

export function startReportGenerator(
  folder: string,
  wanted: readonly SiteWeek[],
  terms: number,
): ReportGenerator {
  const program = programArguments(new URL('../../demo/reports/main.ts', import.meta.url));
  const names = wanted.map(({ site, week }) => `${site}:${week}`);
  const child = spawn(process.execPath, [...program, folder, String(terms), ...names], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Ctrl-C in a terminal reaches only us.
    detached: true,
  });
  const ended = endOf(child);
  // Heard from the beginning: what is unread when the process ends would be thrown away.
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

/** Its exit code, its signal, or why there was no process. */
function endOf(child: ChildProcess): Promise<number | string | Error | null> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal));
    child.once('error', resolve);
  });
}
