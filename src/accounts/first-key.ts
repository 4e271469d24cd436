import type { Database } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { lockAccount } from './accounts.ts';
import { createKey } from './keys.ts';

/** Whether an account has a grant and has never had a key. */
export async function isKeyDue(database: Database, accountId: number): Promise<boolean> {
  const { rows } = await database.query<{ due: boolean }>(`select ${IS_DUE} as due`, [accountId]);
  return rows[0]?.due ?? false;
}

/**
 * Creates the key that comes with the first purchase.
 * @returns the key, which is not stored; null if the account already had a key or has no grant.
 */
export function createFirstKey(database: Database, accountId: number, now: number): Promise<string | null> {
  return inTransaction(database, async (client) => {
    // Of two concurrent requests only one receives the key.
    await lockAccount(client, accountId);
    const { rows } = await client.query<{ due: boolean }>(`select ${IS_DUE} as due`, [accountId]);
    return rows[0]?.due ? createKey(client, accountId, now) : null;
  });
}

const IS_DUE = `not exists (select 1 from api_keys where account_id = $1 and purpose = 'customer') and
  (exists (select 1 from subscriptions where account_id = $1) or exists (select 1 from packs where account_id = $1))`;
