import { createHash, randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { hashPassword, setPassword } from './passwords.ts';
import { endOtherSessions } from './sessions.ts';

/** How long a password reset link from the operator is valid. */
export const RESET_LIFETIME_MS = 86_400_000;

/** How long a link that is sent by e-mail is valid. */
export const MAILED_RESET_LIFETIME_MS = 3_600_000;

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

/**
 * Creates such a token for the active account of an e-mail address. Earlier tokens stay valid, so that strangers who request
 * links cannot invalidate one that its owner is about to use. Waits for a change of the address, so that none is created for the earlier one.
 * @returns the token, which is not stored; null if there is no such account.
 */
export async function createMailedReset(
  database: Queryable,
  email: string,
  now: number,
): Promise<string | null> {
  const token = randomBytes(32).toString('base64url');
  const { rowCount } = await database.query(
    `insert into password_resets (token_hash, account_id, expires_at)
     select $1, id, $3 from accounts where email = $2 and state = 'active' for share`,
    [digestOf(token), email, new Date(now + MAILED_RESET_LIFETIME_MS)],
  );
  return rowCount === 1 ? token : null;
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

/**
 * Sets the password, invalidates the account's other tokens, and ends every session of the account.
 * @param onSet runs in the same transaction. @returns false if the token is not valid.
 */
export async function resetPassword(
  database: Database,
  token: string,
  password: string,
  now: number,
  onSet: (client: ClientBase, accountId: number) => Promise<void> = async () => {},
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
    await endPasswordResets(client, reset.account_id);
    await endOtherSessions(client, reset.account_id, null);
    await onSet(client, reset.account_id);
    return true;
  });
}

/** Invalidates the tokens of an account. */
export async function endPasswordResets(database: Queryable, accountId: number): Promise<void> {
  await database.query('delete from password_resets where account_id = $1', [accountId]);
}

/** The path of the page that sets a password with a token. */
export function resetPath(token: string): string {
  return `/reset-password?token=${token}`;
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
