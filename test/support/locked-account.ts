import type { Database } from '../../src/platform/db/pool.ts';

/** Runs something while another transaction holds the row of an account. */
export async function whileLocked<T>(
  database: Database,
  { accountId }: { accountId: number },
  task: (unlock: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const client = await database.connect();
  const unlock = async () => void (await client.query('rollback'));
  await client.query('begin');
  await client.query('select 1 from accounts where id = $1 for update', [accountId]);
  try {
    return await task(unlock);
  } finally {
    await unlock();
    client.release();
  }
}
