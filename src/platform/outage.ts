import pg from 'pg';
import { type Clock, sleep } from './clock.ts';

/**
 * Default of the setting STORE_ANSWER_LIMIT_MS: a gateway refuses a request when a store has not answered for this long.
 * The caller receives the refusal within two seconds.
 */
export const STORE_ANSWER_LIMIT_MS = 1_200;

/** PostgreSQL can be reached, but accepts no writes: a fail-over is under way. */
export class NoPrimary extends Error {
  override readonly name = 'NoPrimary';
  constructor() {
    super('it accepts no writes: it is a standby or has been made read-only');
  }
}

/**
 * Codes of PostgreSQL, or their classes: broken connections, a server that stops or starts, a server that has become a
 * standby, a server without a free connection, and a transaction that was idle for too long.
 */
const DOWN = /^(08|57P|25006|25P03|53300)/;

/** A statement that took longer than the limit of its connection, or that waited too long for a lock. */
const SLOW = /^(57014|55P03)/;

/** Messages of pg and ioredis for an exceeded time limit; the last two are of a connection that this process has closed. */
const TIMED_OUT =
  /^(Query read timeout|timeout exceeded when trying to connect|Command timed out)$|connection timeout|^(Connection terminated|Client was closed and is not queryable)$/;

/**
 * Returns how a store fails, by an error: `down` if it is unreachable, stopping or starting, and another attempt may
 * soon succeed; `slow` if a time limit is over, and the caller must not wait any longer. null: the error has another cause.
 */
export function outageOf(error: unknown): 'down' | 'slow' | null {
  if (!(error instanceof Error)) return null;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (error instanceof pg.DatabaseError) return SLOW.test(code) ? 'slow' : DOWN.test(code) ? 'down' : null;
  if (error instanceof NoPrimary) return 'down';
  if (TIMED_OUT.test(error.message)) return 'slow';
  // Errors of a connection that breaks during a query, and of Redis commands during an outage or a fail-over, have no code.
  const isDown =
    /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENOTFOUND)/.test(code) ||
    /\bconnect(ion)?\b|isn't writeable|max retries per request|^(LOADING|READONLY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)\b|cluster redirections|startup nodes|refresh slots/i.test(
      error.message,
    );
  return isDown ? 'down' : null;
}

/** Returns whether an error means that PostgreSQL or Redis cannot be reached, or does not answer in time. */
export function isStoreDown(error: unknown): boolean {
  return outageOf(error) !== null;
}

type DriverFunction = (...args: unknown[]) => unknown;

/** Wraps a function of a driver, which takes a callback or returns a promise, so that `onError` receives its errors as well. */
export function reportingErrors<Call>(call: Call, onError: (error: unknown) => void): Call {
  const reporting: DriverFunction = (...args) => {
    const callback = args.at(-1);
    if (typeof callback !== 'function') {
      const result = (call as DriverFunction)(...args);
      if (result instanceof Promise) result.catch(onError);
      return result;
    }
    return (call as DriverFunction)(...args.slice(0, -1), (error: unknown, ...results: unknown[]) => {
      if (error) onError(error);
      (callback as DriverFunction)(error, ...results);
    });
  };
  return reporting as Call;
}

/** The longest wait for a database that is down: enough for a restart or a failover. */
const PATIENCE_MS = 10_000;

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Retries a task while the database is down. The connection may break after the database committed, so the task must be
 * idempotent. It is not retried after a time limit, because the caller has waited long enough.
 * @param patience of a caller for which no request waits: it retries after time limits as well, until a time or until the
 * signal aborts.
 */
export async function retryDuringOutage<T>(
  clock: Clock,
  task: () => Promise<T>,
  patience?: { until: number; signal: AbortSignal },
): Promise<T> {
  const giveUpAt = patience?.until ?? clock.now() + PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await task();
    } catch (error) {
      const outage = outageOf(error);
      const isRetried = outage === 'down' || (outage === 'slow' && patience !== undefined);
      if (!isRetried || clock.now() + pauseMs > giveUpAt) throw error;
      await sleep(clock, pauseMs, patience?.signal);
    }
  }
}
