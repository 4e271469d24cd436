import { readdir, readFile } from 'node:fs/promises';

/** Clock ticks of Linux in a second. */
const TICKS_PER_SECOND = 100;

interface ProcessTimes {
  pid: number;
  parent: number;
  /** User and system time of the process and of its children that have ended, in ticks. */
  ticks: number;
}

/** Returns the CPU time of processes with all their descendants, in milliseconds, user and system together. Reads /proc. */
export async function cpuTimeMs(pids: readonly number[]): Promise<number[]> {
  const processes = await allProcesses();
  const sumOf = (pid: number): number =>
    processes.reduce(
      (sum, process) =>
        sum + (process.pid === pid ? process.ticks : 0) + (process.parent === pid ? sumOf(process.pid) : 0),
      0,
    );
  return pids.map((pid) => (sumOf(pid) / TICKS_PER_SECOND) * 1000);
}

/** Returns the CPU time of named processes, in milliseconds. */
export async function cpuTimes(processes: ReadonlyMap<string, number>): Promise<Record<string, number>> {
  const times = await cpuTimeMs([...processes.values()]);
  return Object.fromEntries([...processes.keys()].map((name, i) => [name, times[i] ?? 0]));
}

/** Returns the parent of a process. */
export async function parentOf(pid: number): Promise<number> {
  return (await timesOf(pid))?.parent ?? 0;
}

/** Returns the highest resident memory that the children of a process have had, together. */
export async function peakMbOfChildren(pid: number): Promise<number> {
  const children = (await allProcesses()).filter(({ parent }) => parent === pid);
  const statuses = await Promise.all(
    children.map((child) => readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')),
  );
  const peaksKb = statuses.map((status) => Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
  return peaksKb.reduce((sum, kb) => sum + kb, 0) / 1024;
}

async function allProcesses(): Promise<ProcessTimes[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const processes = await Promise.all(pids.map(timesOf));
  return processes.filter((process) => process !== null);
}

/** Null if the process has ended. */
async function timesOf(pid: number): Promise<ProcessTimes | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  // The name, in brackets, can contain spaces. The fields after it: state, parent, ..., utime (11), stime, cutime, cstime.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const ticks = fields.slice(11, 15).reduce((sum, each) => sum + each, 0);
  return { pid, parent: fields[1] ?? 0, ticks };
}
