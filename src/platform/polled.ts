import { type Clock, every } from './clock.ts';
import type { Logger } from './log.ts';

/** A value that this process reads again and again, so that requests read it from memory. */
export interface Polled<Value> {
  /** The value that was read last, and when; even while its store is down. */
  current(): { value: Value; readAt: number | null };
  /** Reads the value now. If that fails, the last value stays. */
  refresh(): Promise<void>;
  stop(): Promise<void>;
}

/** Reads a value every `everyMs`. @param initial the value before the first read. */
export function polled<Value>(
  { clock, log }: { clock: Clock; log: Logger },
  { name, everyMs, initial }: { name: string; everyMs: number; initial: Value },
  read: () => Promise<Value>,
): Polled<Value> {
  let present: { value: Value; readAt: number | null } = { value: initial, readAt: null };
  async function refresh(): Promise<void> {
    try {
      present = { value: await read(), readAt: clock.now() };
    } catch (error) {
      log.debug({ err: error, value: name }, 'failed to read a polled value, will retry');
    }
  }
  const stop = every(clock, everyMs, refresh);
  return { current: () => present, refresh, stop };
}
