import pg from 'pg';
import type { Logger } from '../log.ts';

export type Database = pg.Pool;

/** A pool, or a connection within a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;

/** A pool of connections. bigint columns arrive as numbers: none of ours comes near 2^53. */
export function openDatabase(url: string, log: Logger, options: { max?: number } = {}): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max ?? 10,
    connectionTimeoutMillis: 10_000,
    application_name: 'souk',
    types: { getTypeParser },
  });
  // An idle connection that breaks must not end the process; the next query opens another.
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'));
  // Nor must one that somebody has taken out, and that breaks between two queries: the next one tells.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  if (oid === pg.types.builtins.INT8) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
};
