import type { Database } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { lockAccount } from './accounts.ts';
import { hashKey, isWellFormed, keyPrefix, newKey } from './keys.ts';

/** How long the keys of before still work once an account's key is reset. */
export const ROTATION_MS = 30 * 60_000;

/** `rotated`: works until `expiresAt`, because a newer key has taken its place. */
export type KeyState = 'active' | 'rotated' | 'expired' | 'revoked';

/** What may be shown of a key. */
export interface AccountKey {
  id: number;
  prefix: string;
  state: KeyState;
  createdAt: Date;
  /** To the minute, about; null: never, as far as is known. */
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

/** The keys of an account, the oldest first. */
export async function listKeys(database: Database, accountId: number, now: number): Promise<AccountKey[]> {
  const { rows } = await database.query<Omit<AccountKey, 'state'>>(
    `select ${COLUMNS} from api_keys where account_id = $1 and purpose = 'customer' order by id`,
    [accountId],
  );
  return rows.map((key) => ({ ...key, state: stateOf(key, now) }));
}

/**
 * Gives an account a key that works at once, and lets every other key of the account work for at most half an hour more,
 * so that its programs can change over without a pause.
 * @returns the new key, the only time it is seen, and when the last of the others stops working.
 */
export async function resetKey(
  database: Database,
  accountId: number,
  now: number,
): Promise<{ key: string; olderKeysUntil: Date }> {
  const key = newKey();
  const olderKeysUntil = new Date(now + ROTATION_MS);
  await inTransaction(database, async (client) => {
    // Of two resets at once the second must see the first one's key, or both new keys would stay for good.
    await lockAccount(client, accountId);
    await client.query(
      `update api_keys set expires_at = least(coalesce(expires_at, $2), $2)
       where account_id = $1 and revoked_at is null and purpose = 'customer'`,
      [accountId, olderKeysUntil],
    );
    await client.query(
      'insert into api_keys (hash, account_id, prefix, created_at) values ($1, $2, $3, $4)',
      [hashKey(key), accountId, keyPrefix(key), new Date(now)],
    );
  });
  return { key, olderKeysUntil };
}

/**
 * Makes keys of an account stop working at once; one that was revoked before keeps the time of then.
 * @param which 'all', or a key's id, its prefix, or the key itself. @returns those that were found.
 */
export async function revokeKeys(
  database: Database,
  accountId: number,
  which: string,
  now: number,
): Promise<AccountKey[]> {
  const { rows } = await database.query<Omit<AccountKey, 'state'>>(
    `update api_keys set revoked_at = coalesce(revoked_at, $3)
     where account_id = $1 and purpose = 'customer'
       and ($2 = 'all' or id::text = $2 or prefix = $2 or hash = $4)
     returning ${COLUMNS}`,
    [accountId, which, new Date(now), isWellFormed(which) ? hashKey(which) : null],
  );
  return rows.map((key) => ({ ...key, state: stateOf(key, now) })).sort((a, b) => a.id - b.id);
}

/** As the admission of calls has it: a key stops working at the very moment it expires. */
function stateOf({ expiresAt, revokedAt }: Omit<AccountKey, 'state'>, now: number): KeyState {
  if (revokedAt) return 'revoked';
  if (!expiresAt) return 'active';
  return expiresAt.getTime() <= now ? 'expired' : 'rotated';
}

const COLUMNS = `id, prefix, created_at as "createdAt", last_used_at as "lastUsedAt", expires_at as "expiresAt",
  revoked_at as "revokedAt"`;
