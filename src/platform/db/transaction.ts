import type { ClientBase } from 'pg';
import { isStoreAway } from '../outage.ts';
import type { Database } from './pool.ts';

/** Runs `work` in a transaction of its own. */
export async function inTransaction<T>(
  database: Database,
  task: (client: ClientBase) => Promise<T>,
): Promise<T> {
  const client = await database.connect();
  let isBroken = false;
  try {
    await client.query('begin');
    const result = await task(client);
    await client.query('commit');
    return result;
  } catch (error) {
    // A connection to a server that hangs, or that has become a standby, is closed, which ends its transaction.
    isBroken = isStoreAway(error);
    if (!isBroken) await client.query('rollback').catch(() => {});
    throw error;
  } finally {
    client.release(isBroken);
  }
}
