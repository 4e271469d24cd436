interface Waiting<In, Out> {
  item: In;
  resolve(out: Out): void;
  reject(error: unknown): void;
}

/**
 * Gathers calls that come at about the same time into one round trip: whatever arrives while the flights are all
 * under way goes with the next one. An idle batcher sends at once, so a lone caller waits for nobody.
 */
export class MicroBatcher<In, Out> {
  readonly #run: (batch: readonly In[]) => Promise<readonly Out[]>;
  readonly #limits: { maxBatch: number; maxFlights: number };
  #waiting: Waiting<In, Out>[] = [];
  #flights = 0;
  #scheduled = false;

  /** @param run answers a batch in its order, one result an item; when it throws, the whole batch fails with that. */
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
    // After the present round of input events, so that requests read in one go travel together.
    setImmediate(() => {
      this.#scheduled = false;
      void this.#fly(this.#waiting.splice(0, this.#limits.maxBatch));
      this.#schedule();
    });
  }

  async #fly(batch: Waiting<In, Out>[]): Promise<void> {
    this.#flights += 1;
    try {
      const results = await this.#run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, i) => {
        resolve(results[i] as Out);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.#flights -= 1;
      this.#schedule();
    }
  }
}
