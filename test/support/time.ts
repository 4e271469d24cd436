import { vi } from 'vitest';
import type { WorkerPoolName } from '../../src/operations/pools.ts';
import type { TestClock } from './clock.ts';
import type { Souk } from './souk.ts';

/** How long tests wait for stores, which are slow on a busy machine. */
export const PATIENCE = { answerLimitMs: 60_000 };

/** Advances the clock in small steps until a condition holds. */
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
  // Cheaper than `expect.poll`, which makes an error of each look.
  await vi.waitUntil(look, { interval: 10, timeout: 60_000 });
}

/** Advances the clock in small steps until a promise is settled, and returns it. */
export async function endOf<T>(clock: TestClock, waiting: Promise<T>, stepMs = 50): Promise<T> {
  let hasEnded = false;
  const ended = waiting.finally(() => {
    hasEnded = true;
  });
  ended.catch(() => {});
  await advanceUntil(clock, () => hasEnded, stepMs);
  return ended;
}

/**
 * Advances the clock by more than the lifetime of a worker's report, in one step. Afterwards earlier workers count as gone,
 * and new ones do not.
 */
export async function leapAhead(souk: Souk, ms: number, pools: readonly WorkerPoolName[]): Promise<void> {
  souk.clock.advance(ms);
  await souk.addWorker(pools);
}
