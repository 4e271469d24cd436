import { spawn } from 'node:child_process';
import { programArguments } from '../src/platform/project.ts';
import type { Row } from './row.ts';

/** The parameters of the measured calls. */
export interface CalledWeeks {
  newest: string;
  terms: number;
}

/** Writes reports of `us` to a folder. */
export async function generateReports(
  folder: string,
  terms: number,
  weeks: readonly string[],
): Promise<void> {
  const program = programArguments('demo/reports/main.ts');
  const wanted = weeks.map((week) => `us:${week}`);
  const child = spawn(process.execPath, [...program, folder, String(terms), ...wanted], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await new Promise((resolve) => child.once('exit', resolve));
}

/** Returns the highest memory of a process that reads a full stream of each size, as the import does. */
export async function importMemory(format: 'csv' | 'json', sizesMb: readonly number[]): Promise<Row[]> {
  const found: { sizeMb: number; rows: number; peakMb: number }[] = [];
  for (const sizeMb of sizesMb) {
    const program = programArguments('bench/import-memory.ts');
    const child = spawn(process.execPath, [...program, String(sizeMb), format], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    for await (const text of child.stdout.setEncoding('utf8')) output += text as string;
    found.push({ sizeMb, ...(JSON.parse(output) as { rows: number; peakMb: number }) });
  }
  const [small, large] = found;
  if (!small || !large) return [];
  return [
    {
      what: `memory while reading ${large.sizeMb} MB of ${format.toUpperCase()} (${large.rows} terms) / ${small.sizeMb} MB`,
      ours: `${large.peakMb} MB`,
      baseline: `${small.peakMb} MB`,
      ratio: large.peakMb / small.peakMb,
      aim: 'at most 1.25',
      failures: 0,
    },
  ];
}
