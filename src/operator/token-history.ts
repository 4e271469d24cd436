import type { Queryable } from '../platform/db/pool.ts';

export interface TokenReadingAt {
  at: Date;
  left: number;
  perMinute: number;
}

/** Returns the tokens left per minute, the oldest first. */
export async function tokenHistory(database: Queryable, since: number): Promise<TokenReadingAt[]> {
  const { rows } = await database.query<TokenReadingAt>(
    `select minute as at, tokens_left as left, tokens_per_minute as "perMinute"
     from token_readings where minute > $1 order by minute`,
    [new Date(since)],
  );
  return rows;
}
