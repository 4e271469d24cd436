import { setTimeout as pause } from 'node:timers/promises';
import { SoukError } from '../errors.ts';
import { MicroBatcher } from './micro-batcher.ts';

/** The outcome of a call whose account is locked by another transaction. */
export const LOCKED = Symbol('locked');

const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 25;

/**
 * A micro-batcher for statements that do not wait for locks. A call of a locked account is tried again in a lane of its own,
 * so that it delays no call of another account.
 */
export class LockLane<In, Out> {
  readonly #first: MicroBatcher<In, Out | typeof LOCKED>;
  readonly #again: MicroBatcher<In, Out | typeof LOCKED>;
  readonly #patienceMs: number;

  /** @param patienceMs how long a call is tried again. */
  constructor(
    run: (batch: readonly In[]) => Promise<readonly (Out | typeof LOCKED)[]>,
    { patienceMs }: { patienceMs: number },
  ) {
    this.#first = new MicroBatcher(run);
    this.#again = new MicroBatcher(run);
    this.#patienceMs = patienceMs;
  }

  /** @throws SoukError BUSY when the account stays locked. */
  async submit(item: In): Promise<Out> {
    // Measured in real time, because the locks of PostgreSQL do not follow the clock of a test.
    const giveUpAt = performance.now() + this.#patienceMs;
    let result = await this.#first.submit(item);
    for (let pauseMs = FIRST_PAUSE_MS; result === LOCKED; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      if (performance.now() + pauseMs > giveUpAt)
        throw new SoukError('BUSY', {
          message: 'Another operation on this account takes too long; retry later.',
          retryAfterSeconds: 1,
        });
      await pause(pauseMs);
      result = await this.#again.submit(item);
    }
    return result;
  }
}
