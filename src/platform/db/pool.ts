import pg from 'pg';
import type { Logger } from '../log.ts';

export type Database = pg.Pool;

/** A pool, or a connection within a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;

/** Opens a pool of connections. bigint columns are returned as numbers: none of ours comes near 2^53. */
export function openDatabase(url: string, log: Logger, options: { max?: number } = {}): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max ?? 10,
    connectionTimeoutMillis: 10_000,
    application_name: 'souk',
    types: { getTypeParser },
  });
  // A broken idle connection must not end the process. The next query opens another one.
  pool.on('error', (error) => log.warn({ err: error }, 'lost an idle database connection'));
  // Nor must a broken connection that is in use but between two queries. Its next query fails.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  if (oid === pg.types.builtins.INT8) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
};
