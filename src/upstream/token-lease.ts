import type { Clock } from '../platform/clock.ts';

/** The state of the operator's tokens, from an answer of the provider. */
export interface TokenReading {
  tokensLeft: number;
  /** Tokens a minute. */
  refillRate: number;
  /** Milliseconds until the next refill. */
  refillIn: number;
  /** Time on the provider's clock, Unix milliseconds; the latest reading wins. null: an estimate, which any reading replaces. */
  timestamp: number | null;
  /** Tokens that the call cost, if the answer contains them. */
  consumed?: number | undefined;
}

/**
 * How a call to the provider ended: with a reading, with the tokens spent if its answer had no reading, or `lost` if the call
 * was sent and has no answer, because it was aborted for example. The provider may take the tokens of a lost call.
 */
export type TokenOutcome = TokenReading | { spent: number } | 'lost';

/** Tokens taken for a call in progress. */
export interface TokenLease {
  settle(outcome: TokenOutcome): Promise<void>;
}

/** Tokens that a process takes in advance for its next calls, if many are left. */
export const ADVANCE = 50;

/** There are many tokens if so many advances are left beside the reserve. */
export const PLENTY_ADVANCES = 20;

/** Calls begin with tokens taken in advance for this time, also when none is under way; then the others go back. */
const ADVANCE_MS = 2_000;

/** How often the calls that share an advance are settled while others are under way. */
const SETTLE_EVERY_MS = 250;

export interface SharedLeaseDeps {
  clock: Clock;
  /**
   * Settles a part of a lease in Redis: the lease, the four values of the outcome, what stays of it, and the lost call. A
   * settlement that fails leaves the lease as it is; it expires, and counts as spent.
   */
  settle(...values: (string | number)[]): Promise<void>;
  /** Called when few tokens are left. */
  onScarce(): void;
}

/** The tokens of one call, or of several that share an advance. */
export class SharedLease {
  readonly #deps: SharedLeaseDeps;
  readonly #id: string;
  readonly #advanceUntil: number;
  /** The tokens that Redis holds for the lease. */
  #held: number;
  /** The tokens of the advance that no call has taken. */
  #free: number;
  /** The calls under way, and their tokens. */
  #calls = 0;
  #underWay = 0;
  /** What calls have spent since the last settlement in Redis, and the latest time of the provider in their answers. */
  #spent = 0;
  #stamp = 0;
  #settledAt: number;
  #lostCalls = 0;
  #cancelLimit = () => {};

  constructor(deps: SharedLeaseDeps, id: string, tokens: number) {
    this.#deps = deps;
    this.#id = id;
    this.#held = tokens;
    this.#free = tokens;
    this.#settledAt = deps.clock.now();
    this.#advanceUntil = this.#settledAt + ADVANCE_MS;
  }

  /** Returns the tokens that no call has taken in time. */
  limitAdvance(): void {
    const cancel = this.#deps.clock.after(ADVANCE_MS, () => void this.endAdvance(), 'token advance');
    this.#cancelLimit = cancel;
  }

  /** Begins the call that took the lease. */
  first(cost: number): TokenLease {
    this.#free -= cost;
    this.#underWay += cost;
    this.#calls += 1;
    let isSettled = false;
    return {
      settle: async (outcome) => {
        if (isSettled) return;
        isSettled = true;
        await this.#end(cost, outcome);
      },
    };
  }

  /** Begins another call, if the advance has enough tokens. */
  begin(cost: number): TokenLease | undefined {
    const isOver = this.#free === 0 || this.#deps.clock.now() > this.#advanceUntil;
    return isOver || cost > this.#free ? undefined : this.first(cost);
  }

  /** Returns the tokens that no call has taken. */
  async endAdvance(): Promise<void> {
    this.#cancelLimit();
    if (this.#free === 0) return;
    this.#free = 0;
    await this.#settle(this.#spent).catch(() => {});
  }

  async #end(cost: number, outcome: TokenOutcome): Promise<void> {
    this.#calls -= 1;
    if (outcome === 'lost') {
      // Both parts are settled at once: a call that ends between them would not be counted.
      const spent = this.#spent > 0 ? this.#settle(this.#spent) : undefined;
      this.#underWay -= cost;
      this.#lostCalls += 1;
      await Promise.all([spent, this.#settle('lost', `${this.#id}.${this.#lostCalls}:${cost}`)]);
      return;
    }
    this.#underWay -= cost;
    const isReading = 'tokensLeft' in outcome;
    this.#spent += isReading ? (outcome.consumed ?? cost) : outcome.spent;
    const stamp = isReading ? (outcome.timestamp ?? Number.POSITIVE_INFINITY) : 0;
    const isLatest = isReading && stamp >= this.#stamp;
    this.#stamp = Math.max(this.#stamp, stamp);
    const isScarce = isReading && outcome.tokensLeft < ADVANCE * PLENTY_ADVANCES;
    const isDue = this.#calls === 0 || this.#deps.clock.now() - this.#settledAt >= SETTLE_EVERY_MS;
    if (isScarce) this.#deps.onScarce();
    // A reading contains what the calls before it have spent, but not what those after it have.
    if (isScarce || isDue) await this.#settle(isLatest ? outcome : this.#spent);
  }

  /** @param outcome a reading, the tokens spent, or the loss of a call. */
  #settle(outcome: TokenReading | number | 'lost', lostCall = ''): Promise<void> {
    const lease = `${this.#id}:${this.#held}`;
    this.#held = this.#free + this.#underWay;
    this.#spent = 0;
    this.#stamp = 0;
    this.#settledAt = this.#deps.clock.now();
    const rest = this.#held > 0 ? `${this.#id}:${this.#held}` : '';
    const values = valuesOf(typeof outcome === 'number' ? { spent: outcome } : outcome);
    return this.#deps.settle(lease, ...values, rest, lostCall);
  }
}

function valuesOf(outcome: TokenOutcome): (string | number)[] {
  if (outcome === 'lost') return ['lost', '', '', ''];
  if ('spent' in outcome) return [outcome.spent, '', '', ''];
  return [outcome.tokensLeft, outcome.refillRate, outcome.refillIn, outcome.timestamp ?? ''];
}
