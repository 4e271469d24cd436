import type { DatabaseClock } from '../../src/platform/db/pool.ts';
import { createSignals } from './signals.ts';

interface Timer {
  at: number;
  callback: () => void;
  name: string | undefined;
}

/** A clock that the test advances. It takes the place of PostgreSQL's time, and of that of the machine. */
export class TestClock implements DatabaseClock {
  #now: number;
  #timers = new Set<Timer>();
  #signals = createSignals(() => [...this.#timers]);

  constructor(start = Date.parse('2026-03-04T10:00:00.000Z')) {
    this.#now = start;
  }

  now = (): number => this.#now;

  machineAheadMs = (): number => 0;

  follow = async (): Promise<() => Promise<void>> => async () => {};

  after = (delayMs: number, callback: () => void, name?: string): (() => void) => {
    const timer = { at: this.#now + Math.max(0, delayMs), callback, name };
    this.#timers.add(timer);
    this.#signals.changed();
    return () => {
      this.#timers.delete(timer);
      this.#signals.changed();
    };
  };

  /** Advances the time, and runs the timers that are due in their order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      this.#timers.delete(next);
      this.#now = next.at;
      this.#signals.changed();
      next.callback();
    }
    this.#now = end;
  }

  /** Advances the time to the end of the first waiting timer with this name. */
  advanceTo(name: string): void {
    const ends = [...this.#timers].filter((timer) => timer.name === name).map(({ at }) => at);
    if (ends.length > 0) this.advance(Math.min(...ends) - this.#now);
  }

  /** Returns the number of waiting timers with this name, such as `token refill`. */
  countOf(name: string): number {
    return [...this.#timers].filter((timer) => timer.name === name).length;
  }

  /** Resolves once at least `howMany` timers of this name wait. */
  async until(name: string, howMany = 1): Promise<void> {
    await this.#signals.until(
      `${howMany} x the timer "${name}"`,
      () => this.countOf(name) >= howMany || undefined,
    );
  }

  /** Returns whether a timer waits. */
  get isWaiting(): boolean {
    return this.#timers.size > 0;
  }
}
