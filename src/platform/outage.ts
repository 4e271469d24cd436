import pg from 'pg';

/** Whether an error says that PostgreSQL or Redis cannot be reached, or is stopping or starting. */
export function isStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (error instanceof pg.DatabaseError) return /^(08|57P)/.test(code);
  // A connection that breaks in the middle of a query has no code, nor has a Redis command that is refused meanwhile.
  return (
    /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENOTFOUND)/.test(code) ||
    /\bconnect(ion)?\b|isn't writeable|max retries per request|^LOADING\b/i.test(error.message)
  );
}
