import { type Clock, sleep } from '../../platform/clock.ts';

/** Spreads the bytes of all uploads of this process over time, because receiving them takes time of the process and of Redis that calls need. */
export interface UploadPace {
  /** Resolves when the next bytes may be read. */
  take(bytes: number): Promise<void>;
}

/** Uploads do not wait until all uploads together are this much ahead of their rate, so small uploads are never delayed. */
const AHEAD_MS = 100;

/** @param bytesPerSecond null: no limit. */
export function createUploadPace(clock: Clock, bytesPerSecond: number | null): UploadPace {
  if (bytesPerSecond === null) return { take: async () => {} };
  let paidUntil = 0;
  return {
    async take(bytes) {
      const now = clock.now();
      paidUntil = Math.max(now, paidUntil) + (bytes * 1_000) / bytesPerSecond;
      const waitMs = paidUntil - now - AHEAD_MS;
      if (waitMs > 0) await sleep(clock, waitMs, undefined, 'upload pace');
    },
  };
}
