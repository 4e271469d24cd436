import type { Payload } from '../jobs/payload.ts';
import type { PoolName } from '../src/operations/pools.ts';
import { type Clock, sleep } from '../src/platform/clock.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Flight, SingleFlight } from './single-flight.ts';

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
  /** Aborts when the job is cancelled, or returned to the queue because the process stops. */
  signal: AbortSignal;
  /** True if no request waits for the job. */
  readonly background: boolean;
  /** The flights that the job leads at present. */
  leading: Set<Flight>;
  /** Waits, but ends early if a request starts to wait for the job. Rejects if the job stops. */
  pause(durationMs: number): Promise<void>;
  /** Total milliseconds of pauses. */
  readonly pausedMs: number;
  /** Ends the pause, because a request now waits for the job. */
  promote(): void;
  /** Cancels the job, unless other calls need its fetches. */
  cancel(flights: Pick<SingleFlight, 'anyFollowed'>): Promise<void>;
  end(): void;
}

/** @param stopped aborts when the process stops running the job. */
export function createRun(clock: Clock, stopped: AbortSignal, isBackground: boolean): Run {
  const controller = new AbortController();
  const leading = new Set<Flight>();
  let background = isBackground;
  let pausedMs = 0;
  let wake = () => {};
  const onStopped = () => controller.abort(stopped.reason);
  if (stopped.aborted) onStopped();
  stopped.addEventListener('abort', onStopped, { once: true });
  return {
    signal: controller.signal,
    get background() {
      return background;
    },
    leading,
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
      const signal = AbortSignal.any([controller.signal, enough.signal]);
      const rested = sleep(clock, durationMs, signal, 'token pause');
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
    async cancel(flights) {
      if (leading.size > 0 && (await flights.anyFollowed([...leading]))) return;
      controller.abort(new Error('the job was cancelled'));
    },
    end() {
      stopped.removeEventListener('abort', onStopped);
    },
  };
}
