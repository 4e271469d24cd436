import { type Clock, sleep } from './clock.ts';
import { outageOf } from './outage.ts';

/** The longest wait for a database that is away: enough for a restart or a failover. */
const PATIENCE_MS = 10_000;

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Retries a task while the database is away. The connection may break after the database committed, so the task must be
 * idempotent. It is not retried after a time limit, because the caller has waited long enough.
 */
export async function retryDuringOutage<T>(clock: Clock, task: () => Promise<T>): Promise<T> {
  const giveUpAt = clock.now() + PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await task();
    } catch (error) {
      if (outageOf(error) !== 'away' || clock.now() + pauseMs > giveUpAt) throw error;
      await sleep(clock, pauseMs);
    }
  }
}
