import type { Queryable } from '../platform/db/pool.ts';

/** Live calls get data of the providers and are paid for; test calls get data of the demo provider and are free. */
export type Mode = 'live' | 'test';

/**
 * The id of a test account is this number plus the id of its live account. The mode is part of the id, so that each part of the
 * service that knows the account of a call knows its mode too, without a look-up. A constraint of the table ensures it.
 */
const FIRST_ID = 1_000_000_000_000;

export function isTestAccount(accountId: number): boolean {
  return accountId >= FIRST_ID;
}

export function modeOf(accountId: number): Mode {
  return isTestAccount(accountId) ? 'test' : 'live';
}

/** Returns the id that the test account of a live account has, whether it exists or not. */
export function testAccountOf(liveAccountId: number): number {
  return FIRST_ID + liveAccountId;
}

/** Returns the live account of a test account; a live account is its own. */
export function liveAccountOf(accountId: number): number {
  return isTestAccount(accountId) ? accountId - FIRST_ID : accountId;
}

/** Returns whether an account has a test account. */
export async function hasTestAccount(database: Queryable, liveAccountId: number): Promise<boolean> {
  const { rowCount } = await database.query('select from accounts where id = $1', [
    testAccountOf(liveAccountId),
  ]);
  return rowCount !== 0;
}

/**
 * Creates the test account of a live account, unless it exists. It has no e-mail address, so it cannot sign in; the column holds
 * a text that is not an address and is never confirmed, so that no notices are sent to it.
 */
export async function ensureTestAccount(
  database: Queryable,
  liveAccountId: number,
  now: number,
): Promise<number> {
  const id = testAccountOf(liveAccountId);
  await database.query(
    `insert into accounts (id, live_account_id, email, name, state, created_at)
     overriding system value
     select $1, l.id, 'test account of ' || l.id, l.name, l.state, $3 from accounts l where l.id = $2
     on conflict (id) do nothing`,
    [id, liveAccountId, new Date(now)],
  );
  return id;
}
