import type pg from 'pg';
import type { Database, Queryable } from './pool.ts';

/** Settings of connections whose queries are cancelled: PostgreSQL ends a query within this time after its connection. */
export const CANCELLABLE = { client_connection_check_interval: '500ms' } as const;

/**
 * Returns a pool whose queries end when a signal aborts: they reject with its reason, and their connections are closed, so that
 * PostgreSQL cancels them. Later queries are not sent.
 * @param database with the settings `CANCELLABLE`; otherwise PostgreSQL ends a query at its time limit.
 */
export function cancellable(database: Database, signal: AbortSignal): Queryable {
  async function query(...parameters: [string | pg.QueryConfig, unknown[]?]): Promise<pg.QueryResult> {
    signal.throwIfAborted();
    const client = await database.connect();
    const cancel = () => void client.end();
    let failure: Error | undefined;
    try {
      signal.throwIfAborted();
      signal.addEventListener('abort', cancel, { once: true });
      return await client.query(...(parameters as [string, unknown[]?]));
    } catch (error) {
      signal.throwIfAborted();
      failure = error as Error;
      throw error;
    } finally {
      signal.removeEventListener('abort', cancel);
      client.release(failure);
    }
  }
  const view = { query: query as Queryable['query'] };
  pools.set(view, database);
  return view;
}

const pools = new WeakMap<Queryable, Database>();

/** Returns the pool behind a cancellable pool. Caches of database content use it as their key. */
export function poolBehind(database: Queryable): Queryable {
  return pools.get(database) ?? database;
}
