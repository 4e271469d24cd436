import { randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { digestOf } from '../platform/fingerprint.ts';
import { keyPrefix } from './authentication.ts';
import { endPasswordResets } from './passwords.ts';

/** `unavailable`: closed permanently, by a change in the database. The operator console and the command set the others. */
export type AccountState = 'active' | 'disabled' | 'unavailable';

export interface Account {
  id: number;
  email: string;
  name: string;
  state: AccountState;
  createdAt: Date;
  /** null: the e-mail address is not confirmed. */
  emailConfirmedAt: Date | null;
}

/** Finds the account of an e-mail address, or creates it. @returns its id. */
export async function ensureAccount(
  database: Database,
  email: string,
  name: string,
  now: number,
): Promise<number> {
  const { rows } = await database.query<{ id: number }>(
    `insert into accounts (email, name, created_at) values ($1, $2, $3)
     on conflict (email) do update set email = excluded.email
     returning id`,
    [email, name, new Date(now)],
  );
  return rows[0]?.id ?? 0;
}

/** @returns null if the e-mail address already has an account. */
export async function createAccount(
  database: Queryable,
  email: string,
  name: string,
  now: number,
): Promise<Account | null> {
  const { rows } = await database.query<Account>(
    `insert into accounts (email, name, created_at) values ($1, $2, $3)
     on conflict (email) do nothing returning ${ACCOUNT_COLUMNS}`,
    [email, name, new Date(now)],
  );
  return rows[0] ?? null;
}

export async function isEmailTaken(database: Queryable, email: string): Promise<boolean> {
  const { rowCount } = await database.query('select 1 from accounts where email = $1', [email]);
  return rowCount !== 0;
}

/** Returns all live accounts, the oldest first. */
export async function listAccounts(database: Database): Promise<Account[]> {
  const { rows } = await database.query<Account>(
    `select ${ACCOUNT_COLUMNS} from accounts where live_account_id is null order by id`,
  );
  return rows;
}

export async function findAccount(database: Queryable, id: number): Promise<Account | null> {
  const { rows } = await database.query<Account>(`select ${ACCOUNT_COLUMNS} from accounts where id = $1`, [
    id,
  ]);
  return rows[0] ?? null;
}

/** Sets the state of an account and of its test account from the next request on. @returns the account, or null if there is none. */
export async function setAccountState(
  database: Queryable,
  id: number,
  state: AccountState,
): Promise<Account | null> {
  const { rows } = await database.query<Account>(
    `update accounts set state = $2 where id = $1 or live_account_id = $1 returning ${ACCOUNT_COLUMNS}`,
    [id, state],
  );
  return rows.find((account) => account.id === id) ?? null;
}

/** Locks an account until the transaction ends, so that changes of its grants, keys and secrets happen one after the other. */
export async function lockAccount(client: ClientBase, id: number): Promise<void> {
  await client.query('select 1 from accounts where id = $1 for no key update', [id]);
}

/** Confirms the e-mail address of an account. If it is confirmed already, the stored time does not change. @returns null if the account does not exist. */
export async function confirmEmail(database: Queryable, id: number, now: number): Promise<Account | null> {
  const { rows } = await database.query<Account>(
    `update accounts set email_confirmed_at = coalesce(email_confirmed_at, $2) where id = $1 returning ${ACCOUNT_COLUMNS}`,
    [id, new Date(now)],
  );
  return rows[0] ?? null;
}

const ACCOUNT_COLUMNS =
  'id, email, name, state, created_at as "createdAt", email_confirmed_at as "emailConfirmedAt"';

/**
 * Finds live accounts by a part of the e-mail address or name, by number, or by the start of a key, live or test. An empty text matches
 * all accounts. Returns the newest first. @param before the last account of the previous page.
 */
export async function searchAccounts(
  database: Queryable,
  { text, before, limit }: { text: string; before: number | null; limit: number },
): Promise<Account[]> {
  const { rows } = await database.query<Account>(
    `select ${ACCOUNT_COLUMNS} from accounts
     where ($1 = '' or strpos(email, lower($1)) > 0 or strpos(lower(name), lower($1)) > 0 or id::text = $1
         or ($2::text is not null and id in (
           select coalesce(a.live_account_id, a.id) from api_keys k join accounts a on a.id = k.account_id
           where k.purpose = 'customer' and starts_with(k.prefix, $2))))
       and live_account_id is null
       and ($3::bigint is null or id < $3)
     order by id desc limit $4`,
    [text, keyPrefixIn(text), before, limit],
  );
  return rows;
}

/** The stored start of a key. A search text may be the start of a key or the whole key. */
function keyPrefixIn(text: string): string | null {
  return /^km_(?:test_)?[A-Za-z0-9]+$/.test(text) ? keyPrefix(text) : null;
}

/** How long a link that confirms an e-mail address is valid. */
const CONFIRMATION_LIFETIME_MS = 86_400_000;

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
