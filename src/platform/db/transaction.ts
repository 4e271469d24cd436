import pg, { type ClientBase } from 'pg';
import { isStoreDown } from '../outage.ts';
import type { Database } from './pool.ts';

/** A pool, or the connection of a transaction that the caller commits or rolls back. */
export type Transactable = Database | ClientBase;

/** Runs `task` in a transaction of its own, or in that of the caller. */
export async function inTransaction<T>(
  database: Transactable,
  task: (client: ClientBase) => Promise<T>,
): Promise<T> {
  if (!(database instanceof pg.Pool)) return task(database);
  const client = await database.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await task(client);
    await client.query('commit');
    return result;
  } catch (error) {
    // A connection to a server that hangs, or that has become a standby, is closed, which ends its transaction.
    if (isStoreDown(error)) broken = error as Error;
    else await client.query('rollback').catch(() => {});
    throw error;
  } finally {
    client.release(broken);
  }
}
