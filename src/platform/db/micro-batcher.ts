import { setTimeout as pause } from 'node:timers/promises';
import { SoukError } from '../errors.ts';
import { outageOf } from '../outage.ts';

interface Waiting<In, Out> {
  item: In;
  resolve(out: Out): void;
  reject(error: unknown): void;
}

/**
 * The shortest time between the starts of two round trips, if the first has several calls, and if it has MANY calls or more. In real
 * time: with the clock of a test, the calls after a round trip would wait until the test advances it.
 */
const BATCHES_APART_MS = 5;
const MANY_APART_MS = 10;
const MANY = 4;

/**
 * Combines calls that arrive at about the same time into one round trip. While all round trips are in use, arriving
 * calls wait and share the next one. An idle batcher sends immediately, so a single call does not wait. A round trip of several calls
 * is a sign of load: the next one is sent a few milliseconds after it, because a larger batch costs less per call. If a
 * time limit ends a round trip, the calls that wait for it fail as well: their time is over too.
 */
export class MicroBatcher<In, Out> {
  readonly #run: (batch: readonly In[]) => Promise<readonly Out[]>;
  readonly #limits: { maxBatch: number; maxFlights: number };
  #waiting: Waiting<In, Out>[] = [];
  #flights = 0;
  #scheduled = false;

  /** @param run returns the results of a batch in its order, one for each item. If it throws, all calls of the batch fail. */
  constructor(
    run: (batch: readonly In[]) => Promise<readonly Out[]>,
    limits: { maxBatch: number; maxFlights: number } = { maxBatch: 256, maxFlights: 1 },
  ) {
    this.#run = run;
    this.#limits = limits;
  }

  submit(item: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#flights >= this.#limits.maxFlights || this.#waiting.length === 0) return;
    this.#scheduled = true;
    // Runs after the present input events, so that requests that were read together are sent together.
    setImmediate(() => {
      this.#scheduled = false;
      void this.#fly(this.#waiting.splice(0, this.#limits.maxBatch));
      this.#schedule();
    });
  }

  async #fly(batch: Waiting<In, Out>[]): Promise<void> {
    this.#flights += 1;
    const startedAt = performance.now();
    try {
      const results = await this.#run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, i) => {
        resolve(results[i] as Out);
      });
    } catch (error) {
      const late = outageOf(error) === 'slow' ? this.#waiting.splice(0) : [];
      for (const { reject } of [...batch, ...late]) reject(error);
    } finally {
      const apartMs = batch.length < MANY ? BATCHES_APART_MS : MANY_APART_MS;
      const restMs = startedAt + apartMs - performance.now();
      if (batch.length > 1 && restMs > 0) await pause(restMs);
      this.#flights -= 1;
      this.#schedule();
    }
  }
}

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
