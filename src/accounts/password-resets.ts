import { createHash, randomBytes } from 'node:crypto';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { hashPassword, setPassword } from './passwords.ts';
import { endOtherSessions } from './sessions.ts';

/** How long a password reset link is valid. */
export const RESET_LIFETIME_MS = 86_400_000;

/**
 * Creates a token that sets the password of an account once, and invalidates the account's earlier tokens.
 * @returns the token, which is not stored.
 */
export async function createPasswordReset(
  database: Transactable,
  accountId: number,
  now: number,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await inTransaction(database, async (client) => {
    await client.query('delete from password_resets where account_id = $1 or expires_at <= $2', [
      ...[accountId, new Date(now)],
    ]);
    await client.query(
      'insert into password_resets (token_hash, account_id, expires_at) values ($1, $2, $3)',
      [digestOf(token), accountId, new Date(now + RESET_LIFETIME_MS)],
    );
  });
  return token;
}

/** The e-mail address of the account whose password a token sets; null if the token is unknown, used or expired. */
export async function accountOfReset(
  database: Queryable,
  token: string,
  now: number,
): Promise<string | null> {
  const { rows } = await database.query<{ email: string }>(
    `select a.email from password_resets r join accounts a on a.id = r.account_id
     where r.token_hash = $1 and r.expires_at > $2`,
    [digestOf(token), new Date(now)],
  );
  return rows[0]?.email ?? null;
}

/** Sets the password and ends every session of the account. @returns false if the token is not valid. */
export async function resetPassword(
  database: Database,
  token: string,
  password: string,
  now: number,
): Promise<boolean> {
  const digest = await hashPassword(password);
  return inTransaction(database, async (client) => {
    const { rows } = await client.query<{ account_id: number }>(
      'delete from password_resets where token_hash = $1 and expires_at > $2 returning account_id',
      [digestOf(token), new Date(now)],
    );
    const [reset] = rows;
    if (!reset) return false;
    await setPassword(client, reset.account_id, digest, now);
    await endOtherSessions(client, reset.account_id, null);
    return true;
  });
}

/** The path of the page that sets a password with a token. */
export function resetPath(token: string): string {
  return `/reset-password?token=${token}`;
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
