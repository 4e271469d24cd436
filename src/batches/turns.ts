import { setImmediate, setTimeout } from 'node:timers/promises';
import pLimit from 'p-limit';

/** Lets other work of the process have its turn if this work has had one. Long work calls it after each small piece. */
export type TakeTurns = () => Promise<void>;

const TURN_MS = 5;

/** For work of a worker, which has the process for itself. */
export function workerTurns(): TakeTurns {
  return turns(() => setImmediate());
}

const oneByOne = pLimit(1);

/**
 * For work of a gateway. All of it together takes at most half of the time of the process, which answers calls meanwhile: of two
 * works, one rests while the other has its turn, so a rest is as long as two turns.
 */
export function gatewayTurns(): TakeTurns {
  return turns(() => oneByOne(() => setTimeout(2 * TURN_MS)));
}

function turns(rest: () => Promise<unknown>): TakeTurns {
  let endsAt = performance.now() + TURN_MS;
  return async () => {
    if (performance.now() < endsAt) return;
    await rest();
    endsAt = performance.now() + TURN_MS;
  };
}
