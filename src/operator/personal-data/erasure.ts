import { liveAccountOf } from '../../accounts/test-accounts.ts';
import { queueNotice } from '../../mail/queue.ts';
import type { Queryable } from '../../platform/db/pool.ts';

/** How long an erasure can be undone. */
export const ERASURE_DELAY_MS = 7 * 86_400_000;

/** The erasure of an account. */
export interface Erasure {
  /** null: not requested. */
  eraseAt: Date | null;
  erasedAt: Date | null;
}

/** The account cannot be erased now, or is erased and cannot be changed. The message says why. */
export class ErasureRefused extends Error {}

export async function erasureOf(database: Queryable, accountId: number): Promise<Erasure> {
  const { rows } = await database.query<Erasure>(
    'select erase_at as "eraseAt", erased_at as "erasedAt" from accounts where id = $1',
    [accountId],
  );
  return rows[0] ?? { eraseAt: null, erasedAt: null };
}

/** @throws ErasureRefused if the erasure of an account, or of the live account of a test account, has begun. */
export async function requireNotErased(database: Queryable, accountId: number, now: number): Promise<void> {
  const { eraseAt, erasedAt } = await erasureOf(database, liveAccountOf(accountId));
  if (erasedAt || (eraseAt && eraseAt.getTime() <= now))
    throw new ErasureRefused(`The personal data of account ${accountId} is erased, so it stays closed.`);
}

/**
 * Plans the erasure of an account, and informs its owner. A repeated request does not change its time. @returns when it will be erased; null if the
 * account does not exist or is erased.
 * @throws ErasureRefused while a plan renews itself, because it would be charged again.
 */
export async function requestErasure(
  database: Queryable,
  accountId: number,
  now: number,
): Promise<Date | null> {
  const { rowCount } = await database.query(
    "select from renewing_plans where account_id = $1 and state <> 'ended' limit 1",
    [accountId],
  );
  if (rowCount) throw new ErasureRefused('The account has a plan that renews. End the plan first.');
  const { rows } = await database.query<{ at: Date }>(
    `update accounts set erase_at = coalesce(erase_at, $2)
     where id = $1 and erased_at is null and live_account_id is null returning erase_at as at`,
    [accountId, new Date(now + ERASURE_DELAY_MS)],
  );
  const eraseAt = rows[0]?.at ?? null;
  if (eraseAt) {
    const facts = { eraseAt: eraseAt.toISOString() };
    await queueNotice(database, { accountId, kind: 'erasure_planned', facts }, now);
  }
  return eraseAt;
}

/** Undoes the request. @returns false if no erasure is planned, or it has begun. */
export async function cancelErasure(database: Queryable, accountId: number, now: number): Promise<boolean> {
  const { rowCount } = await database.query(
    'update accounts set erase_at = null where id = $1 and erase_at > $2 and erased_at is null',
    [accountId, new Date(now)],
  );
  return rowCount === 1;
}
