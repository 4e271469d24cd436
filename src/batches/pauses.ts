import { setImmediate, setTimeout } from 'node:timers/promises';
import pLimit from 'p-limit';

/** Lets other work of the process run, if this work has run for some milliseconds. Long work calls it after each small piece. */
export type Pause = () => Promise<void>;

const WORK_MS = 5;

/** Pauses for work of a worker, which has the process for itself. */
export function workerPauses(): Pause {
  return pauses(() => setImmediate());
}

const oneByOne = pLimit(1);

/**
 * Pauses for work of a gateway, which answers calls meanwhile. All such work together takes at most half of the time of the
 * process: while one piece of work runs, the other one pauses, so a pause is twice as long as the work before it.
 */
export function gatewayPauses(): Pause {
  return pauses(() => oneByOne(() => setTimeout(2 * WORK_MS)));
}

function pauses(rest: () => Promise<unknown>): Pause {
  let endsAt = performance.now() + WORK_MS;
  return async () => {
    if (performance.now() < endsAt) return;
    await rest();
    endsAt = performance.now() + WORK_MS;
  };
}
