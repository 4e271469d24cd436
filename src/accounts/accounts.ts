import type { ClientBase } from 'pg';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { allRows, firstRow } from '../platform/db/rows.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { keyPrefix } from './authentication.ts';
import { createPerson } from './people.ts';

/** `unavailable`: closed permanently, by a change in the database. The operator console and the command set the others. */
export type AccountState = 'active' | 'disabled' | 'unavailable';

/** Units, keys and data belong to an account. Its members are people; see members.ts. */
export interface Account {
  id: number;
  name: string;
  state: AccountState;
  createdAt: Date;
  /** The first owner. null: the account is a test account, or erased. */
  ownerId: number | null;
  /** Address of the owner; a text without @ if there is none. */
  email: string;
  /** null: the e-mail address of the owner is not confirmed. */
  emailConfirmedAt: Date | null;
}

const ACCOUNT_COLUMNS = `a.id, a.name, a.state, a.created_at as "createdAt", o.person_id as "ownerId",
  coalesce(o.email, case when a.live_account_id is null then 'erased account ' || a.id else 'test account of ' || a.live_account_id end) as email,
  o.email_confirmed_at as "emailConfirmedAt"`;

const ACCOUNTS = 'accounts a left join account_owners o on o.account_id = a.id';

/** Finds the account whose owner has an e-mail address, of several the first, or creates it. @returns its id. */
export async function ensureAccount(
  database: Transactable,
  email: string,
  name: string,
  now: number,
): Promise<number> {
  const { rows } = await database.query<{ id: number }>(
    'select account_id as id from account_owners where email = $1 order by account_id limit 1',
    [email],
  );
  const id = rows[0]?.id ?? (await createAccount(database, email, name, now))?.id;
  // Another process has created it meanwhile.
  return id ?? ensureAccount(database, email, name, now);
}

/** Creates a person with an account. @returns null if somebody has this e-mail address. */
export function createAccount(
  database: Transactable,
  email: string,
  name: string,
  now: number,
): Promise<(Account & { ownerId: number }) | null> {
  return inTransaction(database, async (client) => {
    const person = await createPerson(client, { email, name }, now);
    if (!person) return null;
    const id = await createAccountOf(client, person.id, name, now);
    const account = await findAccount(client, id);
    return account && { ...account, ownerId: person.id };
  });
}

/** Creates an account that belongs to a person. @returns its id. */
export async function createAccountOf(
  database: Queryable,
  personId: number,
  name: string,
  now: number,
): Promise<number> {
  const { rows } = await database.query<{ id: number }>(
    `with created as (insert into accounts (name, created_at) values ($2, $3) returning id)
     insert into members (account_id, person_id, role, created_at)
     select id, $1, 'owner', $3 from created returning account_id as id`,
    [personId, name, new Date(now)],
  );
  return rows[0]?.id ?? 0;
}

/** Returns all live accounts, the oldest first. */
export function listAccounts(database: Database) {
  return allRows<Account>(
    database,
    `select ${ACCOUNT_COLUMNS} from ${ACCOUNTS} where a.live_account_id is null order by a.id`,
  );
}

export function findAccount(database: Queryable, id: number) {
  return firstRow<Account>(database, `select ${ACCOUNT_COLUMNS} from ${ACCOUNTS} where a.id = $1`, [id]);
}

/** Sets the state of an account and of its test account from the next request on. @returns the account, or null if there is none. */
export async function setAccountState(
  database: Queryable,
  id: number,
  state: AccountState,
): Promise<Account | null> {
  await database.query('update accounts set state = $2 where id = $1 or live_account_id = $1', [id, state]);
  return findAccount(database, id);
}

export async function renameAccount(database: Queryable, id: number, name: string): Promise<void> {
  await database.query('update accounts set name = $2 where id = $1 or live_account_id = $1', [id, name]);
}

/** Locks an account until the transaction ends, so that changes of its grants, keys and secrets happen one after the other. */
export async function lockAccount(client: ClientBase, id: number): Promise<void> {
  await client.query('select 1 from accounts where id = $1 for no key update', [id]);
}

/**
 * Finds live accounts by a part of the name, or of the name or e-mail address of a member, by number, or by the start of a key, live or test. An empty text matches
 * all accounts. Returns the newest first. @param before the last account of the previous page.
 */
export function searchAccounts(
  database: Queryable,
  { text, before, limit }: { text: string; before: number | null; limit: number },
) {
  return allRows<Account>(
    database,
    `select ${ACCOUNT_COLUMNS} from ${ACCOUNTS}
     where ($1 = '' or strpos(lower(a.name), lower($1)) > 0 or a.id::text = $1
         or exists (
           select from members m join people p on p.id = m.person_id
           where m.account_id = a.id and (strpos(p.email, lower($1)) > 0 or strpos(lower(p.name), lower($1)) > 0))
         or ($2::text is not null and a.id in (
           select coalesce(b.live_account_id, b.id) from api_keys k join accounts b on b.id = k.account_id
           where k.purpose = 'customer' and starts_with(k.prefix, $2))))
       and a.live_account_id is null
       and ($3::bigint is null or a.id < $3)
     order by a.id desc limit $4`,
    [text, keyPrefixIn(text), before, limit],
  );
}

/** The stored start of a key. A search text may be the start of a key or the whole key. */
function keyPrefixIn(text: string): string | null {
  return /^km_(?:test_)?[A-Za-z0-9]+$/.test(text) ? keyPrefix(text) : null;
}
