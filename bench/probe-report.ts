import type { ChildProcess } from 'node:child_process';

/** What the probe of a process measured between the messages `reset` and `report`. */
export interface ProbeReport {
  loopDelayP99Ms: number;
  loopDelayMaxMs: number;
  /** The longest delay of a timer by the process itself, without the time in which other programs had the processors. */
  longestBlockMs: number;
  blockP99Ms: number;
  /** The highest resident memory since `reset`. */
  highestMemoryMb: number;
  /** The highest growth of resident memory since `reset`. */
  memoryGrowthMb: number;
}

/** Asks a process for its report. */
export async function reportOf<Report = ProbeReport>(process: ChildProcess): Promise<Report> {
  const message = new Promise<{ report: Report }>((resolve) => process.once('message', resolve));
  process.send('report');
  return (await message).report;
}
