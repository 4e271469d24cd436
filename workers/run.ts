import { setMaxListeners } from 'node:events';
import type { Payload } from '../jobs/payload.ts';
import type { PoolName } from '../src/operations/pools.ts';
import { type Clock, sleep } from '../src/platform/clock.ts';
import { SoukError } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';

/** A job that this process runs. */
export interface RunningJob {
  pool: PoolName;
  payload: Payload;
  run: Run;
  /** Unix milliseconds. */
  startedAt: number;
  onProgress(percent: number): void;
  log: Logger;
}

/** Stops, pauses and promotes a running job. */
export interface Run {
  /** Aborts when the job is returned to the queue because the process stops. */
  signal: AbortSignal;
  /** Aborts when the job is cancelled: nothing more is sent, and what was sent runs to its end. */
  cancelled: AbortSignal;
  /** True if no request waits for the job. */
  readonly background: boolean;
  /** Waits, but ends early if a request starts to wait for the job. Rejects if the job stops. */
  pause(durationMs: number): Promise<void>;
  /** Total milliseconds of pauses. */
  readonly pausedMs: number;
  /** Ends the pause, because a request now waits for the job. */
  promote(): void;
  cancel(): void;
}

/** @param signal aborts when the process stops running the job. */
export function createRun(clock: Clock, signal: AbortSignal, isBackground: boolean): Run {
  const cancellation = new AbortController();
  const { signal: cancelled } = cancellation;
  // Each source of a large call adds a listener.
  setMaxListeners(0, cancelled);
  let background = isBackground;
  let pausedMs = 0;
  let wake = () => {};
  return {
    signal,
    cancelled,
    get background() {
      return background;
    },
    get pausedMs() {
      return pausedMs;
    },
    async pause(durationMs) {
      if (!background) return;
      const pausedAt = clock.now();
      const promoted = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const enough = new AbortController();
      const over = AbortSignal.any([signal, cancelled, enough.signal]);
      const rested = sleep(clock, durationMs, over, 'token pause');
      // Prevents an unhandled rejection if the race ends before this rejects.
      rested.catch(() => {});
      try {
        await Promise.race([rested, promoted]);
      } finally {
        enough.abort();
        pausedMs += clock.now() - pausedAt;
      }
    },
    promote() {
      background = false;
      wake();
    },
    cancel: () => cancellation.abort(new SoukError('CANCELLED')),
  };
}
