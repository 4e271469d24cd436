import type { ClientBase } from 'pg';
import { lockAccount } from '../accounts/accounts.ts';
import { createKey, ensureTestAccount } from '../accounts/authentication.ts';
import { monthsAfter } from '../platform/calendar.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { findPlan, grantSubscription } from './grants.ts';

/** Units of a test account per day; default of the setting TEST_UNITS_PER_DAY. */
export const TEST_UNITS_PER_DAY = 1_000;

/** The plan of all test accounts. It has no price, so it is not for sale. */
const PLAN = { code: 'test-mode', name: 'Test mode', minuteLimit: 60 };

/** A test account is created once and never renewed. */
const MONTHS = 1_200;

/** A day is counted 31 times in the longest month, so that the limit of the month is never reached first. */
const DAYS_A_MONTH = 31;

/**
 * Creates a test key of a live account and, with the first one, its test account with a free wallet. Units renew each day; there
 * are no payments. @param personId who creates it on the pages. @returns the key, which is not stored.
 */
export function createTestKey(
  database: Transactable,
  liveAccountId: number,
  now: number,
  { personId = null, unitsPerDay }: { personId?: number | null; unitsPerDay?: number } = {},
): Promise<string> {
  return inTransaction(database, async (client) =>
    createKey(client, await openTestAccount(client, liveAccountId, now, unitsPerDay), now, personId),
  );
}

/** Creates the test account of a live account with its free wallet, unless it exists. @returns its id. */
export async function openTestAccount(
  client: ClientBase,
  liveAccountId: number,
  now: number,
  unitsPerDay = TEST_UNITS_PER_DAY,
): Promise<number> {
  // Of two concurrent requests only one creates the account.
  await lockAccount(client, liveAccountId);
  const accountId = await ensureTestAccount(client, liveAccountId, now);
  const { rowCount } = await client.query('select from subscriptions where account_id = $1', [accountId]);
  if (rowCount !== 0) return accountId;
  const planId = await ensurePlan(client, unitsPerDay);
  const [startsAt, endsAt] = [new Date(now), monthsAfter(new Date(now), MONTHS)];
  await grantSubscription(client, { accountId, wallet: 'general', planId, quantity: 1, startsAt, endsAt });
  return accountId;
}

/** Sets the units per day of all test accounts. */
export async function setTestUnits(database: Queryable, unitsPerDay: number): Promise<void> {
  await database.query(
    `update plans set daily_limit = $2, monthly_limit = $3
     where code = $1 and superseded_at is null and daily_limit is distinct from $2`,
    [PLAN.code, unitsPerDay, unitsPerDay * DAYS_A_MONTH],
  );
}

async function ensurePlan(database: Queryable, unitsPerDay: number): Promise<number> {
  await database.query(
    `insert into plans (code, name, minute_limit, daily_limit, monthly_limit) values ($1, $2, $3, $4, $5)
     on conflict (code) where superseded_at is null do nothing`,
    [PLAN.code, PLAN.name, PLAN.minuteLimit, unitsPerDay, unitsPerDay * DAYS_A_MONTH],
  );
  return (await findPlan(database, PLAN.code))?.id ?? 0;
}
