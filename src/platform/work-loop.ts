import type { Clock } from './clock.ts';

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
  name: string,
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
