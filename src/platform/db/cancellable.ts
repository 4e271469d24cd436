import pg from 'pg';
import type { Database, Queryable } from './pool.ts';

/**
 * Returns a pool whose queries are cancelled at the server when a signal aborts; they reject with its reason. A query that
 * has not begun by then is not sent.
 */
export function cancellable(database: Database, signal: AbortSignal): Queryable {
  async function query(...parameters: [string | pg.QueryConfig, unknown[]?]): Promise<pg.QueryResult> {
    signal.throwIfAborted();
    const client = await database.connect();
    const cancellations: Promise<void>[] = [];
    const cancel = () => void cancellations.push(cancelQueryOf(database, client));
    let failed = true;
    try {
      signal.throwIfAborted();
      signal.addEventListener('abort', cancel, { once: true });
      const result = await client.query(...(parameters as [string, unknown[]?]));
      failed = false;
      return result;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', cancel);
      // Wait for the cancellation, so that it cannot cancel the next query of this connection.
      await Promise.all(cancellations);
      client.release(failed);
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

/**
 * Cancels a query over a separate connection, because all connections of the pool may be busy. If that fails, the query
 * ends at its time limit.
 */
async function cancelQueryOf(database: Database, client: pg.ClientBase): Promise<void> {
  const { processID, host, port } = client as pg.Client & { processID: number };
  const other = new pg.Client({ connectionString: database.options.connectionString, query_timeout: 5_000 });
  // Of several servers, the one with the query.
  Object.assign(other, { host, port });
  other.on('error', () => {});
  try {
    await other.connect();
    await other.query('select pg_cancel_backend($1)', [processID]);
  } catch {
    // The server cannot be reached, so the query fails as well.
  } finally {
    await other.end().catch(() => {});
  }
}
