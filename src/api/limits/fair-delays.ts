import type { Clock } from '../../platform/clock.ts';

/** Delays a callback of a client. */
export type FairDelays = (client: string, delayMs: number, callback: () => void) => void;

/**
 * Creates delays of which at most `most` wait. For a further one the oldest delay of the client with the most delays ends
 * early, so that a flood shortens its own delays first.
 * @param name of the timers.
 */
export function createFairDelays(clock: Clock, { most, name }: { most: number; name: string }): FairDelays {
  /** How each delay of a client ends, the oldest first. */
  const waiting = new Map<string, Set<() => void>>();
  let count = 0;

  return (client, delayMs, callback) => {
    if (count >= most) endOldest();
    const own = waiting.get(client) ?? new Set();
    waiting.set(client, own);
    const end = () => {
      cancel();
      count -= 1;
      own.delete(end);
      if (own.size === 0) waiting.delete(client);
      callback();
    };
    const cancel = clock.after(delayMs, end, name);
    own.add(end);
    count += 1;
  };

  function endOldest(): void {
    let largest = new Set<() => void>();
    for (const ends of waiting.values()) if (ends.size > largest.size) largest = ends;
    const [end] = largest;
    end?.();
  }
}
