import type { ClientBase } from 'pg';
import { isTestAccount } from '../accounts/test-accounts.ts';
import { SoukError } from '../platform/errors.ts';

/** How many batches that are not finished, how many schedules (those of trackers included), and how many bytes of results an account may have. */
export interface AccountLimits {
  openBatches: number;
  schedules: number;
  storedBytes: number;
}

export const ACCOUNT_LIMITS: AccountLimits = {
  openBatches: 100,
  schedules: 100,
  storedBytes: 2_147_483_648,
};

/** The most that a test account may have, because it is free; settings can only lower it. */
const TEST_LIMITS: AccountLimits = { openBatches: 5, schedules: 5, storedBytes: 16_777_216 };

/** Returns the limits of an account. @param limits those of the installation. */
export function limitsFor(accountId: number, limits: AccountLimits): AccountLimits {
  if (!isTestAccount(accountId)) return limits;
  return {
    openBatches: Math.min(limits.openBatches, TEST_LIMITS.openBatches),
    schedules: Math.min(limits.schedules, TEST_LIMITS.schedules),
    storedBytes: Math.min(limits.storedBytes, TEST_LIMITS.storedBytes),
  };
}

/** The answers of calls that were answered directly can take this part of the limit of stored bytes, apart from it. */
const DIRECT_PART = 1 / 8;

/** Returns how many bytes of answers of calls that were answered directly an account may have for a day. */
export function directBytes(accountId: number, limits: AccountLimits): number {
  return Math.floor(limitsFor(accountId, limits).storedBytes * DIRECT_PART);
}

/**
 * Counts the batches of an account that are not finished. No other process adds one until the caller's transaction ends.
 */
export async function countOpenBatches(client: ClientBase, accountId: number): Promise<number> {
  return countLocked(
    client,
    accountId,
    'select count(*) from batches where account_id = $1 and finished_at is null',
  );
}

/** Counts the schedules of an account, those of trackers included. No other process adds one until the caller's transaction ends. */
export async function countSchedules(client: ClientBase, accountId: number): Promise<number> {
  return countLocked(client, accountId, 'select count(*) from schedules where account_id = $1');
}

async function countLocked(client: ClientBase, accountId: number, query: string): Promise<number> {
  // A lock of its own, because admissions take the lock of the account.
  await client.query("select pg_advisory_xact_lock(hashtextextended('souk.account-limits', $1))", [
    accountId,
  ]);
  const { rows } = await client.query<{ count: number }>(query, [accountId]);
  return rows[0]?.count ?? 0;
}

/** @throws SoukError LIMIT_REACHED. */
export function requireBatchRoom(open: number, { openBatches: most }: AccountLimits): void {
  if (open >= most)
    throw limitReached(
      `The account has ${open} batches that are not finished; at most ${most} are allowed. Wait until one finishes, or cancel one.`,
      { limit: most, of: 'openBatches' },
    );
}

/** @throws SoukError LIMIT_REACHED. */
export function requireScheduleRoom(schedules: number, { schedules: most }: AccountLimits): void {
  if (schedules >= most)
    throw limitReached(
      `The account has ${schedules} schedules and trackers; at most ${most} are allowed. Delete one first.`,
      { limit: most, of: 'schedules' },
    );
}

function limitReached(message: string, metadata: { limit: number; of: string }): SoukError {
  return new SoukError('LIMIT_REACHED', { message, metadata, retryAfterSeconds: 60 });
}
