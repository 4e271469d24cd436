import { createHash, randomBytes } from 'node:crypto';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { endPasswordResets } from './password-resets.ts';

/** How long a link that confirms an e-mail address is valid. */
export const CONFIRMATION_LIFETIME_MS = 86_400_000;

/**
 * Creates a token that confirms once that an address belongs to an account. It is sent to that address. A token for another
 * address than the present one also changes the address.
 * @returns the token, which is not stored; null if the account is not active.
 */
export async function createEmailConfirmation(
  database: Queryable,
  accountId: number,
  email: string,
  now: number,
): Promise<string | null> {
  const token = randomBytes(32).toString('base64url');
  const { rowCount } = await database.query(
    `insert into email_confirmations (token_hash, account_id, email, present_email, expires_at)
     select $1, id, $3, email, $4 from accounts where id = $2 and state = 'active'`,
    [digestOf(token), accountId, email, new Date(now + CONFIRMATION_LIFETIME_MS)],
  );
  return rowCount === 1 ? token : null;
}

/** The address that a token confirms; null if the token is unknown, used or expired. */
export async function emailOfConfirmation(
  database: Queryable,
  token: string,
  now: number,
): Promise<string | null> {
  const { rows } = await database.query<{ email: string }>(
    `select c.email from email_confirmations c join accounts a on a.id = c.account_id
     where c.token_hash = $1 and c.expires_at > $2 and a.email = c.present_email`,
    [digestOf(token), new Date(now)],
  );
  return rows[0]?.email ?? null;
}

/**
 * Confirms an address, makes it that of the account, and invalidates the account's other tokens. A change of address also invalidates
 * the links that set a new password: they were sent to the earlier address.
 * @returns false if the token is not valid, or another account has the address.
 */
export function confirmEmailByToken(database: Database, token: string, now: number): Promise<boolean> {
  return inTransaction(database, async (client) => {
    const { rows } = await client.query<{ accountId: number; email: string; present: string }>(
      `delete from email_confirmations where token_hash = $1 and expires_at > $2
       returning account_id as "accountId", email, present_email as present`,
      [digestOf(token), new Date(now)],
    );
    const [found] = rows;
    if (!found) return false;
    const { accountId, email, present } = found;
    const { rowCount } = await client.query(
      `update accounts set email = $2, email_confirmed_at = case when email = $2 then coalesce(email_confirmed_at, $4) else $4 end
       where id = $1 and email = $3 and not exists (select 1 from accounts where email = $2 and id <> $1)`,
      [accountId, email, present, new Date(now)],
    );
    await endEmailConfirmations(client, accountId);
    if (rowCount === 1 && email !== present) await endPasswordResets(client, accountId);
    return rowCount === 1;
  });
}

/** Invalidates the tokens of an account, because its owner requests another address. */
export async function endEmailConfirmations(database: Queryable, accountId: number): Promise<void> {
  await database.query('delete from email_confirmations where account_id = $1', [accountId]);
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
