import { setTimeout as pause } from 'node:timers/promises';
import type { SoakLoad } from './clients.ts';
import type { Dice } from './dice.ts';
import type { Pace } from './strikes.ts';

/** A run for a time. */
interface Duration {
  seconds: number;
  /** The longest pause between two strikes. */
  pauseMs: number;
}

/** A run for a number of calls, over which the strikes are spread. */
interface Quantity {
  calls: number;
  strikes: number;
  /** The run ends after this time, also with fewer calls. */
  limitSeconds: number;
}

export type Amount = Duration | Quantity;

const LOOK_EVERY_MS = 20;

/** Strikes after random pauses, or evenly over the calls. */
export function paceOf(amount: Amount, load: SoakLoad, dice: Dice): Pace {
  const startedAt = Date.now();
  if ('seconds' in amount) {
    const { seconds, pauseMs } = amount;
    return {
      longestDownMs: 1_000,
      longestStopMs: pauseMs / 2,
      async next() {
        await pause(dice.integer(200, pauseMs));
        return Date.now() < startedAt + seconds * 1000;
      },
    };
  }
  const { calls, strikes, limitSeconds } = amount;
  const isOver = () => load.sent >= calls || Date.now() > startedAt + limitSeconds * 1000;
  return {
    longestDownMs: 1_000,
    longestStopMs: 6_000,
    async next(struck) {
      const due = ((struck + 1) * calls) / (strikes + 1);
      while (load.sent < due && !isOver()) await pause(LOOK_EVERY_MS);
      // Strikes that are late because processes took long to start are made after the last call.
      while (struck >= strikes && !isOver()) await pause(LOOK_EVERY_MS);
      return struck < strikes && Date.now() <= startedAt + limitSeconds * 1000;
    },
  };
}
