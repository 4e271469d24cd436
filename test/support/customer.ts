import { randomBytes } from 'node:crypto';
import { findAccount } from '../../src/accounts/accounts.ts';
import { createPerson, type InstallationRole, setInstallationRole } from '../../src/accounts/people.ts';
import { beginSession, SESSION_COOKIE } from '../../src/accounts/sessions.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import type { Client } from './client.ts';
import type { AccountOptions, Souk } from './souk.ts';
import { createVisitor, type Visitor } from './visitor.ts';

/** A customer with a session and an API key. */
export interface Customer {
  accountId: number;
  personId: number;
  visitor: Visitor;
  client: Client;
  /** The session, as browsers keep it. */
  cookie: { name: string; value: string };
}

/** Page settings of a service whose purchases are granted immediately. */
export const PAGES = { payments: { way: 'demo', currency: 'usd' } } as const;

/** Creates an account with a session of its owner. */
export async function signedIn(souk: Souk, options: AccountOptions = {}): Promise<Customer> {
  const { accountId, key } = await souk.account(options);
  const client = souk.clientOf(key);
  const personId = await ownerOf(souk.database, accountId);
  return { accountId, personId, client, ...(await visitorOf(souk, personId)) };
}

/** The number of the person who owns an account. */
export async function ownerOf(database: Database, accountId: number): Promise<number> {
  const account = await findAccount(database, accountId);
  if (!account?.ownerId) throw new Error(`account ${accountId} has no owner`);
  return account.ownerId;
}

/** The number of the account whose owner has an e-mail address. */
export async function accountOf(database: Database, email: string): Promise<number> {
  const { rows } = await database.query<{ id: number }>(
    'select account_id as id from account_owners where email = $1',
    [email],
  );
  return rows[0]?.id ?? 0;
}

/** A browser in which a person has signed in. */
export async function visitorOf(souk: Souk, personId: number): Promise<Pick<Customer, 'visitor' | 'cookie'>> {
  const token = await beginSession(souk.database, { personId }, souk.clock.now());
  const cookie = { name: SESSION_COOKIE, value: token };
  const visitor = createVisitor(souk.clientOf('').baseUrl);
  visitor.cookies.set(cookie.name, cookie.value);
  return { visitor, cookie };
}

/** Somebody with a role in the installation and no account, who has signed in. */
export async function staffOf(
  souk: Souk,
  role: InstallationRole = 'operator',
): Promise<Pick<Customer, 'visitor' | 'cookie' | 'personId'> & { email: string }> {
  const email = `${role}-${randomBytes(6).toString('hex')}@staff.example`;
  const person = await createPerson(souk.database, { email, name: role }, souk.clock.now());
  if (!person) throw new Error('the address is taken');
  await setInstallationRole(souk.database, person.id, role);
  return { personId: person.id, email, ...(await visitorOf(souk, person.id)) };
}
