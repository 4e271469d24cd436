import { createHash, randomBytes } from 'node:crypto';
import type { Database } from '../platform/db/pool.ts';
import type { StoredPassword } from './passwords.ts';

/** How long after the password the code may follow. */
export const PENDING_SECONDS = 300;

/** Notes that a visitor has entered the password of an account with a second factor. @returns the token for the visitor's cookie. */
export async function beginPendingSignIn(
  database: Database,
  { accountId, digest }: StoredPassword,
  now: number,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await database.query('delete from pending_sign_ins where expires_at <= $1', [new Date(now)]);
  await database.query(
    'insert into pending_sign_ins (token_hash, account_id, password_digest, expires_at) values ($1, $2, $3, $4)',
    [digestOf(token), accountId, digest, new Date(now + PENDING_SECONDS * 1000)],
  );
  return token;
}

/** Returns the account and the verified password of a token; null if it is unknown or expired, or the account is not active. */
export async function findPendingSignIn(
  database: Database,
  token: string,
  now: number,
): Promise<(StoredPassword & { email: string }) | null> {
  const { rows } = await database.query<StoredPassword & { email: string }>(
    `select p.account_id as "accountId", p.password_digest as digest, a.email
     from pending_sign_ins p join accounts a on a.id = p.account_id
     where p.token_hash = $1 and p.expires_at > $2 and a.state = 'active'`,
    [digestOf(token), new Date(now)],
  );
  return rows[0] ?? null;
}

export async function endPendingSignIn(database: Database, token: string): Promise<void> {
  await database.query('delete from pending_sign_ins where token_hash = $1', [digestOf(token)]);
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
