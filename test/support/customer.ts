import { beginSession } from '../../src/accounts/sessions.ts';
import { SESSION_COOKIES } from '../../src/site/session.ts';
import type { Client } from './client.ts';
import type { AccountOptions, Souk } from './souk.ts';
import { createVisitor, type Visitor } from './visitor.ts';

/** A customer with a session and an API key. */
export interface Customer {
  accountId: number;
  visitor: Visitor;
  client: Client;
  /** The session, as browsers keep it. */
  cookie: { name: string; value: string };
}

/** Page settings of a service whose purchases are granted immediately. */
export const PAGES = { payments: { way: 'demo', currency: 'usd' } } as const;

/** Creates an account with a session. */
export async function signedIn(souk: Souk, options: AccountOptions = {}): Promise<Customer> {
  const { accountId, key } = await souk.account(options);
  const client = souk.clientOf(key);
  const token = await beginSession(souk.database, { accountId }, souk.clock.now());
  const cookie = { name: SESSION_COOKIES.customer, value: token };
  const visitor = createVisitor(client.baseUrl);
  visitor.cookies.set(cookie.name, cookie.value);
  return { accountId, visitor, client, cookie };
}
