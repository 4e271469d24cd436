import pg from 'pg';

/** Returns whether an error means that PostgreSQL or Redis is unreachable, stopping or starting. */
export function isStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (error instanceof pg.DatabaseError) return /^(08|57P)/.test(code);
  // Errors of a connection that breaks during a query, and of Redis commands during an outage, have no code.
  return (
    /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENOTFOUND)/.test(code) ||
    /\bconnect(ion)?\b|isn't writeable|max retries per request|^LOADING\b/i.test(error.message)
  );
}
