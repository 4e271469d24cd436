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

/** How a running job is stopped, paused and promoted. */
export interface Run {
  /** Aborts when the job is given up: cancelled, or handed back because the process stops. */
  signal: AbortSignal;
  /** No request waits for it. */
  readonly background: boolean;
  /** The fetches that it leads at the moment. */
  leading: Set<Flight>;
  /** Waits, but not any longer once somebody waits for the job. Rejects when the job is given up. */
  pause(durationMs: number): Promise<void>;
  /** Milliseconds it has paused. */
  readonly pausedMs: number;
  /** Ends its pause: a request waits for it now. */
  promote(): void;
  /** Gives it up, unless others need what it is fetching. */
  cancel(flights: Pick<SingleFlight, 'anyFollowed'>): Promise<void>;
  end(): void;
}

/** @param stopped aborts when the process gives the job up. */
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
      // The race may be over before it rejects.
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
