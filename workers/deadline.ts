import { setMaxListeners } from 'node:events';
import type { Clock } from '../src/platform/clock.ts';
import { SoukError } from '../src/platform/errors.ts';

/** The deadline of a job, with a signal for everything that waits. */
export interface Deadline {
  signal: AbortSignal;
  deadlineAt: number;
  /** Ends the timer. @param isComplete false aborts the requests of the call that are still under way. */
  end(isComplete: boolean): void;
}

/** Returns a signal that aborts at a time of the clock, or with another signal. */
export function deadlineSignal(clock: Clock, deadlineAt: number, other: AbortSignal): Deadline {
  const controller = new AbortController();
  // Each source of a large batch adds a listener.
  setMaxListeners(0, controller.signal);
  const abort = (reason: unknown) =>
    controller.abort(reason instanceof Error ? reason : new Error(String(reason)));
  const onOther = () => abort(other.reason);
  const remainingMs = deadlineAt - clock.now();
  const expired = () => abort(new SoukError('UPSTREAM_TIMEOUT'));
  const cancel = remainingMs > 0 ? clock.after(remainingMs, expired) : () => {};
  if (remainingMs <= 0) expired();
  other.addEventListener('abort', onOther, { once: true });
  return {
    signal: controller.signal,
    deadlineAt,
    end(isComplete) {
      cancel();
      other.removeEventListener('abort', onOther);
      // A call that failed may have other requests under way, which nothing else would end.
      if (!isComplete) abort(new Error('the call has ended'));
    },
  };
}
