import pg from 'pg';

/**
 * Default of the setting STORE_ANSWER_LIMIT_MS: a gateway refuses a request when a store has not answered for this long, so that
 * its caller has the refusal within two seconds.
 */
export const STORE_ANSWER_LIMIT_MS = 1_200;

/** Thrown for the queries that are under way when a store stops answering. */
export class StoreHangs extends Error {
  override readonly name = 'StoreHangs';
}

/** PostgreSQL can be reached, but none of its servers accepts writes: a fail-over is under way. */
export class NoPrimary extends Error {
  override readonly name = 'NoPrimary';
  constructor(options?: ErrorOptions) {
    super('no server accepts writes: each is a standby, is read-only or is away', options);
  }
}

/**
 * Codes of PostgreSQL, or their classes: broken connections, a server that stops or starts, a server that has become a
 * standby, a server without a free connection, and a transaction that was idle for too long.
 */
const AWAY = /^(08|57P|25006|25P03|53300)/;

/** A statement that took longer than the limit of its connection, or that waited too long for a lock. */
const SLOW = /^(57014|55P03)/;

/** Messages of pg and ioredis for an exceeded time limit. */
const TIMED_OUT =
  /^(Query read timeout|timeout exceeded when trying to connect|Command timed out)$|connection timeout/;

/**
 * Returns how a store fails, by an error: `away` if it is unreachable, stopping or starting, so that another attempt soon may
 * succeed; `slow` if a time limit is over, so that its caller must not wait any longer. null: the error has another cause.
 */
export function outageOf(error: unknown): 'away' | 'slow' | null {
  if (!(error instanceof Error)) return null;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (error instanceof pg.DatabaseError) return SLOW.test(code) ? 'slow' : AWAY.test(code) ? 'away' : null;
  if (error instanceof NoPrimary) return 'away';
  if (error instanceof StoreHangs || TIMED_OUT.test(error.message)) return 'slow';
  // Errors of a connection that breaks during a query, and of Redis commands during an outage or a fail-over, have no code.
  const isAway =
    /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENOTFOUND)/.test(code) ||
    /\bconnect(ion)?\b|isn't writeable|max retries per request|^(LOADING|READONLY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)\b|cluster redirections|startup nodes|refresh slots/i.test(
      error.message,
    );
  return isAway ? 'away' : null;
}

/** Returns whether an error means that PostgreSQL or Redis cannot be reached, or does not answer in time. */
export function isStoreAway(error: unknown): boolean {
  return outageOf(error) !== null;
}
