import type { ClientBase } from 'pg';
import type { Database } from './pool.ts';

/** Runs `work` in a transaction of its own. */
export async function inTransaction<T>(
  database: Database,
  task: (client: ClientBase) => Promise<T>,
): Promise<T> {
  const client = await database.connect();
  try {
    await client.query('begin');
    const result = await task(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  } finally {
    client.release();
  }
}
