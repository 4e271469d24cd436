import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface RunningProcess {
  pid: number;
  parent: number;
  /** Command line and, where the system shows it, environment. */
  text: string;
}

/** Returns every process of this machine whose command line or environment contains the text. */
export async function processesWith(text: string): Promise<RunningProcess[]> {
  const { stdout } = await run('ps', ['axeww', '-o', 'pid=,ppid=,args='], { maxBuffer: 50_000_000 });
  return stdout
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .flatMap((found) =>
      found ? [{ pid: Number(found[1]), parent: Number(found[2]), text: found[3] ?? '' }] : [],
    )
    .filter((process) => process.text.includes(text) && !/^ps axeww/.test(process.text));
}

/** Ends what a failed test has left running. */
export async function killProcessesWith(text: string): Promise<void> {
  for (const { pid } of await processesWith(text)) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !hasEnded(pid);
  } catch {
    return false;
  }
}

/** A process that has ended keeps its id until its parent has read how; Linux shows its state as Z. */
function hasEnded(pid: number): boolean {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
