/**
 * The places for running jobs of a pool in this process, which the workers of its queues share. A worker that waits for a place
 * gets one in its turn, so each queue with jobs gets the same share.
 */
export interface Places {
  /** Takes a place if one is free. */
  tryTake(): boolean;
  /** Waits for a place. @returns false if the worker has left. A worker waits for one place at a time. */
  take(worker: object): Promise<boolean>;
  release(): void;
  /** Returns whether another worker waits for a place. */
  isWantedByOthers(worker: object): boolean;
  /** Ends the wait of a worker. */
  leave(worker: object): void;
}

export function createPlaces(count: number): Places {
  let free = count;
  /** In the order of their arrival. */
  const waiting = new Map<object, (taken: boolean) => void>();

  function tryTake(): boolean {
    // A released place goes to the worker that waits, so none is free while one does.
    if (free === 0) return false;
    free -= 1;
    return true;
  }

  return {
    tryTake,
    take: (worker) =>
      new Promise((resolve) => {
        if (tryTake()) resolve(true);
        else waiting.set(worker, resolve);
      }),
    release() {
      const [next] = waiting;
      if (!next) {
        free += 1;
        return;
      }
      const [worker, resolve] = next;
      waiting.delete(worker);
      resolve(true);
    },
    isWantedByOthers: (worker) => waiting.size > (waiting.has(worker) ? 1 : 0),
    leave(worker) {
      waiting.get(worker)?.(false);
      waiting.delete(worker);
    },
  };
}
