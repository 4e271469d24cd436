import type { Database } from '../platform/db/pool.ts';
import { SoukError, toRecord } from '../platform/errors.ts';
import { type Call, findOverdueCalls } from './calls.ts';
import type { Settlements } from './settlement.ts';

/** How long past its deadline a call may stay open before it is released for whoever died with it. */
export const RECONCILE_GRACE_MS = 15_000;

const BATCH = 500;

/** What was left in a pack when its validity was over. */
export interface ExpiredPack {
  accountId: number;
  packId: number;
  units: number;
}

/**
 * Releases every reservation whose deadline is over: what a worker or gateway that died left behind. Safe in any
 * number of processes at once, because a call ends only once.
 * @returns the calls this run has released.
 */
export async function releaseOverdue(
  database: Database,
  settlements: Settlements,
  now: number,
): Promise<Call[]> {
  const error = toRecord(
    new SoukError('UPSTREAM_TIMEOUT', { message: 'The call was not answered by its deadline.' }),
  );
  const released: Call[] = [];
  for (;;) {
    const overdue = await findOverdueCalls(database, now - RECONCILE_GRACE_MS, BATCH);
    const endings = await Promise.all(
      overdue.map(({ accountId, callId, startedAt, attempts }) =>
        settlements.end({ accountId, callId, units: 0, answer: null, error, startedAt, attempts }),
      ),
    );
    overdue.forEach((call, i) => {
      if (endings[i]?.endedNow) released.push({ ...call, state: 'released', error });
    });
    // A batch that released nothing is being released by another process, or cannot be; either way the next run sees.
    if (overdue.length < BATCH || !endings.some((ending) => ending?.endedNow)) return released;
  }
}

/**
 * Expires every pack whose validity is over: what is left is taken out, with a ledger line, once, whichever process
 * comes first and however long nothing ran.
 * @returns the packs this run has expired.
 */
export async function expirePacks(database: Database, now: number): Promise<ExpiredPack[]> {
  const expired: ExpiredPack[] = [];
  for (;;) {
    const { rows } = await database.query<ExpiredPack>(
      'select account_id as "accountId", pack_id as "packId", units from souk_expire_overdue($1, $2)',
      [new Date(now), BATCH],
    );
    expired.push(...rows);
    // None: another process was quicker, or nothing is left. Either way this run is done.
    if (rows.length === 0) return expired;
  }
}
