/** Generous, because a test that would pass must not fail on a busy machine. */
const LIMIT_MS = 60_000;

/** Lets tests wait for a condition on the records of a spy or a stand-in, without polling. */
export interface Signals {
  /** Reports that the spy has a new record. */
  changed(): void;
  /**
   * Resolves as soon as `find` finds something in the present or later records.
   * @throws after a minute; the message names `what` and lists what was seen last.
   */
  until<T>(what: string, find: () => T | undefined): Promise<T>;
}

/** @param last what was seen last, for the message of a wait that failed. */
export function createSignals(last: () => readonly unknown[]): Signals {
  const waiting = new Set<() => void>();
  return {
    changed() {
      for (const look of [...waiting]) look();
    },
    until<T>(what: string, find: () => T | undefined) {
      return new Promise<T>((resolve, reject) => {
        const giveUp = setTimeout(() => {
          waiting.delete(look);
          const seen = last()
            .slice(-20)
            .map((one) => `\n  ${JSON.stringify(one)}`);
          reject(
            new Error(`waited ${LIMIT_MS / 1000} s for ${what}; seen last:${seen.join('') || ' nothing'}`),
          );
        }, LIMIT_MS);
        const look = () => {
          const found = find();
          if (found === undefined) return;
          clearTimeout(giveUp);
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      });
    },
  };
}
