import type { Clock } from './clock.ts';

/** Work that is looked for again and again. */
export interface WorkLoop {
  /** There is something to do now. */
  wake(): void;
  /** Waits for the step under way; no other begins. */
  close(): Promise<void>;
}

/** Takes a step every `intervalMs`, and as soon as it is woken; never two at once. */
export function startWorkLoop(clock: Clock, intervalMs: number, step: () => Promise<void>): WorkLoop {
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
      else cancel = clock.after(intervalMs, run);
    });
  }

  cancel = clock.after(intervalMs, run);
  return {
    wake: run,
    async close() {
      closed = true;
      cancel();
      await running;
    },
  };
}
