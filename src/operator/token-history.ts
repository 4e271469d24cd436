import type { Queryable } from '../platform/db/pool.ts';

export interface TokenReadingAt {
  at: Date;
  left: number;
  perMinute: number;
}

/** Returns the tokens left at a provider per minute, the oldest first. */
export async function tokenHistory(
  database: Queryable,
  provider: string,
  since: number,
): Promise<TokenReadingAt[]> {
  const { rows } = await database.query<TokenReadingAt>(
    `select minute as at, tokens_left as left, tokens_per_minute as "perMinute"
     from token_readings where provider = $1 and minute > $2 order by minute`,
    [provider, new Date(since)],
  );
  return rows;
}
