import type { Clock } from '../../src/platform/clock.ts';

interface Timer {
  at: number;
  callback: () => void;
}

/** Time that passes when a test says so. */
export class TestClock implements Clock {
  #now: number;
  #timers = new Set<Timer>();

  constructor(start = Date.parse('2026-03-04T10:00:00.000Z')) {
    this.#now = start;
  }

  now = (): number => this.#now;

  after = (delayMs: number, callback: () => void): (() => void) => {
    const timer = { at: this.#now + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  /** Moves time on, calling back in order whatever falls due on the way. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.callback();
    }
    this.#now = end;
  }

  /** How many timers are waiting: what a test watches to know that something has begun to wait. */
  get waiting(): number {
    return this.#timers.size;
  }
}
