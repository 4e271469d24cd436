import type { ClientBase } from 'pg';
import type { Database, Queryable } from '../platform/db/pool.ts';

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

export const ACCOUNT_COLUMNS =
  'id, email, name, state, created_at as "createdAt", email_confirmed_at as "emailConfirmedAt"';
