/** The source of time. Code that reads the time or waits takes a `Clock`, so that tests control time and never sleep. */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number;
  /**
   * Runs `callback` once, `delayMs` from now. The returned function cancels it.
   * @param name what the timer is for; a test waits for it with the clock of the tests.
   */
  after(delayMs: number, callback: () => void, name?: string): () => void;
}

/** The time of the service, which is PostgreSQL's: all processes agree about it, however their machines' clocks are set. */
export interface ServiceClock extends Clock {
  /** By how much the clock of this machine is ahead of PostgreSQL's; null until PostgreSQL has answered. */
  machineAheadMs(): number | null;
}

/** The clock of this machine. Only code whose times concern no other process reads it. */
export const systemClock: Clock = {
  now: Date.now,
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`; rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal, name?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(asError(signal.reason));
      return;
    }
    const onAbort = () => {
      cancel();
      reject(asError(signal?.reason));
    };
    const cancel = clock.after(
      delayMs,
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
      name,
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

/** Returns a time as ISO 8601, in UTC. */
export function iso(unixMs: number): string {
  return new Date(unixMs).toISOString();
}

/** A loop that polls for work. */
export interface WorkLoop {
  /** Takes a step now. */
  wake(): void;
  /** Stops the loop, and waits for the step in progress. */
  close(): Promise<void>;
}

/** Takes a step every `intervalMs` and after each `wake`, never concurrently. @param name of the timer between steps. */
export function startWorkLoop(
  clock: Clock,
  name: string | undefined,
  intervalMs: number,
  step: () => Promise<void>,
): WorkLoop {
  let closed = false;
  let running: Promise<void> | null = null;
  let wokenMeanwhile = false;
  let cancel = () => {};

  function run(): void {
    cancel();
    if (closed) return;
    if (running) {
      wokenMeanwhile = true;
      return;
    }
    wokenMeanwhile = false;
    running = step().finally(() => {
      running = null;
      if (closed) return;
      if (wokenMeanwhile) run();
      else cancel = clock.after(intervalMs, run, name);
    });
  }

  cancel = clock.after(intervalMs, run, name);
  return {
    wake: run,
    async close() {
      closed = true;
      cancel();
      await running;
    },
  };
}

/** Runs `task` every `intervalMs`, never concurrently, until the returned function is called. */
export function every(clock: Clock, intervalMs: number, task: () => Promise<void>): () => Promise<void> {
  return startWorkLoop(clock, undefined, intervalMs, task).close;
}
