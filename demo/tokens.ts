import type { Clock } from '../src/platform/clock.ts';

const TICK_MS = 60_000;
const CAPACITY_MINUTES = 60;

/** The token fields of every answer. */
interface BucketState {
  tokensLeft: number;
  refillIn: number;
  refillRate: number;
  tokenFlowReduction: number;
}

/**
 * The token bucket of one key, as the provider keeps it. It is refilled every minute up to an hour's tokens, accepts a
 * call while any tokens remain, and may become negative by the call's actual cost.
 */
export class DemoTokens {
  readonly #clock: Clock;
  readonly #ratePerMinute: number;
  #left: number;
  #nextTickAt: number;

  constructor(clock: Clock, ratePerMinute: number) {
    this.#clock = clock;
    this.#ratePerMinute = ratePerMinute;
    this.#left = ratePerMinute * CAPACITY_MINUTES;
    this.#nextTickAt = clock.now() + TICK_MS;
  }

  mayCall(): boolean {
    this.#refill();
    return this.#left > 0;
  }

  charge(tokens: number): void {
    this.#left -= tokens;
  }

  state(): BucketState {
    this.#refill();
    const refillIn = this.#nextTickAt - this.#clock.now();
    return { tokensLeft: this.#left, refillIn, refillRate: this.#ratePerMinute, tokenFlowReduction: 0 };
  }

  #refill(): void {
    const now = this.#clock.now();
    if (now < this.#nextTickAt) return;
    const ticks = 1 + Math.floor((now - this.#nextTickAt) / TICK_MS);
    this.#left = Math.min(this.#left + ticks * this.#ratePerMinute, this.#ratePerMinute * CAPACITY_MINUTES);
    this.#nextTickAt += ticks * TICK_MS;
  }
}
