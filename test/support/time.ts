import { expect } from 'vitest';
import type { WorkerPoolName } from '../../src/operations/pools.ts';
import type { TestClock } from './clock.ts';
import type { Souk } from './souk.ts';

/** Moves time on in small steps until something has come about that takes real work on the way. */
export async function advanceUntil(
  clock: TestClock,
  hasHappened: () => boolean,
  stepMs: number,
): Promise<void> {
  const look = () => {
    if (hasHappened()) return true;
    clock.advance(stepMs);
    return false;
  };
  await expect.poll(look, { interval: 10, timeout: 20_000 }).toBe(true);
}

/**
 * Moves time on by more than workers may be silent for. Signs of life fall due on the way, but time does not stand still for
 * them, so the workers of before look dead afterwards; one that is new does not.
 */
export async function leapAhead(souk: Souk, ms: number, pools: readonly WorkerPoolName[]): Promise<void> {
  souk.clock.advance(ms);
  await souk.addWorker(pools);
}
