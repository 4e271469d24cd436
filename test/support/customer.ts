import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { findAccount } from '../../src/accounts/accounts.ts';
import { type Role, setMember } from '../../src/accounts/members.ts';
import { createPerson, type InstallationRole, setInstallationRole } from '../../src/accounts/people.ts';
import { beginSession, SESSION_COOKIE } from '../../src/accounts/sessions.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import type { Client } from './client.ts';
import type { AccountOptions, Souk } from './souk.ts';
import { createVisitor, fieldIn, type VisitedPage, type Visitor } from './visitor.ts';

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

/** Makes a person a member of an account, or changes the role. */
export async function join(
  { database, clock }: Souk,
  member: { accountId: number; personId: number; role: Role },
): Promise<void> {
  await inTransaction(database, (client) => setMember(client, member, clock.now()));
}

/** Somebody with a role in an account and no other account, who has signed in. */
export async function memberOf(souk: Souk, accountId: number, role: Role) {
  const email = `${role}-${randomBytes(6).toString('hex')}@member.example`;
  const person = await createPerson(souk.database, { email, name: role }, souk.clock.now());
  if (!person) throw new Error('the address is taken');
  await join(souk, { accountId, personId: person.id, role });
  return { personId: person.id, email, ...(await visitorOf(souk, person.id)) };
}

export const PASSWORD = 'a long enough password';

/** Signs a customer up by the form. @param visitor the browser of the customer. */
export async function signUp(
  souk: Souk,
  email: string,
  { name = 'Customer', visitor = createVisitor(souk.clientOf('').baseUrl) } = {},
): Promise<Visitor> {
  await visitor.get('/sign-up');
  await visitor.post('/sign-up', { email, name, password: PASSWORD });
  return visitor;
}

/** Sends the form of an offer, such as `kind=plan&code=pro`. @returns the number of the purchase, and the page that follows. */
export async function buy(visitor: Visitor, offer: string, fields: Record<string, string> = {}) {
  const { html } = await visitor.get(`/account/checkout?${offer}`);
  const orderId = fieldIn(html, 'orderId');
  const terms = { wallet: 'general', quantity: '1', months: '1', ...fields };
  const sent = { orderId, ...Object.fromEntries(new URLSearchParams(offer)), ...terms };
  return { orderId, page: await visitor.post('/account/checkout', sent) };
}

/** Expects a page with a status and a text. */
export function expectPage(
  { status, text }: Pick<VisitedPage, 'status' | 'text'>,
  expected: number,
  part: string,
): void {
  expect([status, text]).toEqual([expected, expect.stringContaining(part)]);
}
