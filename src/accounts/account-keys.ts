import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { lockAccount } from './accounts.ts';
import { hashKey, isWellFormed, keyPrefix, newKey } from './keys.ts';
import { modeOf } from './test-accounts.ts';

/** How long the previous keys of an account still work after a reset. */
export const ROTATION_MS = 30 * 60_000;

/** `rotated`: works until `expiresAt`, because a newer key has replaced it. */
export type KeyState = 'active' | 'rotated' | 'expired' | 'revoked';

/** A key without its secret part. */
export interface AccountKey {
  id: number;
  prefix: string;
  state: KeyState;
  createdAt: Date;
  /** Accurate to about a minute; null: no use is known. */
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

/** Returns the keys of an account, the oldest first. */
export async function listKeys(database: Database, accountId: number, now: number): Promise<AccountKey[]> {
  const { rows } = await database.query<Omit<AccountKey, 'state'>>(
    `select ${COLUMNS} from api_keys where account_id = $1 and purpose = 'customer' order by id`,
    [accountId],
  );
  return rows.map((key) => ({ ...key, state: stateOf(key, now) }));
}

/**
 * Creates a key that works immediately, and limits every other key of the account to another 30 minutes, so that its
 * programs can be updated without an interruption.
 * @returns the new key, which is not stored, and when the last of the other keys expires.
 */
export async function resetKey(
  database: Transactable,
  accountId: number,
  now: number,
): Promise<{ key: string; olderKeysUntil: Date }> {
  const key = newKey(modeOf(accountId));
  const olderKeysUntil = new Date(now + ROTATION_MS);
  await inTransaction(database, async (client) => {
    // Of two concurrent resets the second must see the first one's key, or both new keys would stay valid for ever.
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
 * Revokes keys of an account immediately. A key that is already revoked keeps its time of revocation.
 * @param which 'all', or a key's id, its prefix, or the key itself. @returns the keys that were found.
 */
export async function revokeKeys(
  database: Queryable,
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

/** The state of a key, by the same rule as in admission: a key stops working at the instant it expires. */
function stateOf({ expiresAt, revokedAt }: Omit<AccountKey, 'state'>, now: number): KeyState {
  if (revokedAt) return 'revoked';
  if (!expiresAt) return 'active';
  return expiresAt.getTime() <= now ? 'expired' : 'rotated';
}

const COLUMNS = `id, prefix, created_at as "createdAt", last_used_at as "lastUsedAt", expires_at as "expiresAt",
  revoked_at as "revokedAt"`;
