import type { PoolName } from './pools.ts';

/** Calls of batches come after all others. Among themselves they take turns before they are queued. */
export const BACKGROUND_PRIORITY = 1_000_000;

/** How many calls a caller may have under way before its next ones let others go first. */
const CALLS_BEFORE_TURNS = 4;

/**
 * Gives callers fair turns: the more calls one has under way, the further back its next one is put, so that one who
 * sends ten thousand at once waits for itself and not others for it.
 */
export interface Turns {
  /** The priority of a call that is being queued: 0 goes first, higher numbers later. */
  take(call: { pool: PoolName; caller: string; callId: string; deadlineAt: number }): number;
  /** What `take` would say, without taking. */
  peek(pool: PoolName, caller: string): number;
  /** The call has ended. */
  end(callId: string): void;
}

interface Line {
  /** Places of this caller's calls under way, from 1. */
  taken: Set<number>;
  /** No place below is free. */
  lowest: number;
}

const SWEEP_EVERY_CALLS = 1_000;

/** One gateway's turns. It counts the calls it has queued itself; several gateways give several first places. */
export function createTurns(now: () => number): Turns {
  const lines = new Map<string, Line>();
  const calls = new Map<string, { line: string; place: number; deadlineAt: number }>();
  let sinceSweep = 0;

  const nameOf = (pool: PoolName, caller: string) => `${pool}/${caller}`;

  function freePlace(line: Line): number {
    while (line.taken.has(line.lowest)) line.lowest += 1;
    return line.lowest;
  }

  function end(callId: string): void {
    const call = calls.get(callId);
    const line = call && lines.get(call.line);
    if (!call || !line) return;
    calls.delete(callId);
    line.taken.delete(call.place);
    line.lowest = Math.min(line.lowest, call.place);
    if (line.taken.size === 0) lines.delete(call.line);
  }

  /** The news of an end may be lost. */
  function sweep(): void {
    sinceSweep = 0;
    for (const [callId, { deadlineAt }] of calls) if (deadlineAt < now()) end(callId);
  }

  return {
    take({ pool, caller, callId, deadlineAt }) {
      sinceSweep += 1;
      if (sinceSweep > SWEEP_EVERY_CALLS) sweep();
      const name = nameOf(pool, caller);
      const line = lines.get(name) ?? { taken: new Set<number>(), lowest: 1 };
      lines.set(name, line);
      const place = freePlace(line);
      line.taken.add(place);
      calls.set(callId, { line: name, place, deadlineAt });
      return priorityOf(place);
    },
    peek(pool, caller) {
      const line = lines.get(nameOf(pool, caller));
      return line ? priorityOf(freePlace(line)) : 0;
    },
    end,
  };
}

function priorityOf(place: number): number {
  return place <= CALLS_BEFORE_TURNS ? 0 : Math.min(place, BACKGROUND_PRIORITY - 1);
}
