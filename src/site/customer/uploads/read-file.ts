import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import { isCompiled, projectFile } from '../../../platform/project.ts';
import type { FileColumn, Wanted } from './file-column.ts';

const THREAD_FILE = projectFile(`src/site/customer/uploads/thread.${isCompiled ? 'js' : 'mjs'}`);

/** A thread that needs more memory, or more time, ends: its file cannot be read. */
const LIMITS = { maxOldGenerationSizeMb: 256 };
const LIMIT_MS = 20_000;

/** Files are read one after the other, so that they take one processor at most. */
const oneByOne = pLimit(1);

/** The most files that wait. With more, the last one would wait for minutes. */
const MOST_WAITING = 4;

/** Reads a file in a thread of its own. @returns its column, or a problem for the page. */
export function readFile(bytes: Uint8Array, wanted: Wanted): Promise<FileColumn | { problem: string }> {
  if (oneByOne.pendingCount >= MOST_WAITING)
    return Promise.resolve({ problem: 'cannot be read now, because other files are; try again in a minute' });
  return oneByOne(() => inThread(bytes, wanted));
}

function inThread(bytes: Uint8Array, wanted: Wanted): Promise<FileColumn | { problem: string }> {
  const worker = new Worker(THREAD_FILE, { workerData: { bytes, wanted }, resourceLimits: LIMITS });
  return new Promise((resolve) => {
    const unreadable = () => resolve({ problem: 'is too large to be read; save it as CSV' });
    const limit = setTimeout(() => void worker.terminate(), LIMIT_MS);
    worker.once('message', ({ column, problem }: { column?: FileColumn | null; problem?: string }) => {
      if (problem !== undefined) resolve({ problem });
      else resolve(column ?? { problem: `has no column with ${NAMES[wanted]}` });
    });
    worker.once('error', unreadable);
    worker.once('exit', () => {
      clearTimeout(limit);
      unreadable();
    });
  });
}

const NAMES: Readonly<Record<Wanted, string>> = { asins: 'ASINs', texts: 'terms' };
