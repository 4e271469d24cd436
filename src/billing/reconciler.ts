import type { Database } from '../platform/db/pool.ts';
import { SoukError, toRecord } from '../platform/errors.ts';
import { type Call, findOverdueCalls } from './calls.ts';
import type { Settlements } from './settlement.ts';

/** A call that is open this long after its deadline is released, because its worker or gateway has died. */
export const RECONCILE_GRACE_MS = 15_000;

const BATCH = 500;

/** A pack that ended with units left. */
interface ExpiredPack {
  accountId: number;
  packId: number;
  units: number;
}

/**
 * Releases every reservation whose deadline is over, left behind by workers or gateways that died. Safe in several
 * processes at the same time, because a call ends only once.
 * @returns the calls that this run has released.
 */
export async function releaseOverdue(
  database: Database,
  settlements: Settlements,
  now: number,
): Promise<Call[]> {
  const error = toRecord(
    new SoukError('UPSTREAM_TIMEOUT', { message: 'The call was not answered before its deadline.' }),
  );
  const released: Call[] = [];
  for (;;) {
    const overdue = await findOverdueCalls(database, now - RECONCILE_GRACE_MS, BATCH);
    // A later run releases the calls of locked accounts.
    const endings = await Promise.allSettled(
      overdue.map(({ accountId, callId, startedAt, attempts }) =>
        settlements.end({ accountId, callId, units: 0, answer: null, error, startedAt, attempts }),
      ),
    );
    const endedNow = endings.map((ending) => ending.status === 'fulfilled' && ending.value?.endedNow);
    overdue.forEach((call, i) => {
      if (endedNow[i]) released.push({ ...call, state: 'released', error });
    });
    // If this run released none of the calls it read, another process is releasing them, or they cannot be released. The
    // next run tries again.
    if (overdue.length < BATCH || !endedNow.includes(true)) return released;
  }
}

/**
 * Expires every pack whose validity is over: writes one expire line for the units left, in the first process that
 * runs, even after a downtime.
 * @returns the packs that this run has expired.
 */
export async function expirePacks(database: Database, now: number): Promise<ExpiredPack[]> {
  const expired: ExpiredPack[] = [];
  for (;;) {
    const { rows } = await database.query<ExpiredPack>(
      'select account_id as "accountId", pack_id as "packId", units from souk_expire_overdue($1, $2)',
      [new Date(now), BATCH],
    );
    expired.push(...rows);
    // Another process has expired the rest, or no units are left.
    if (rows.length === 0) return expired;
  }
}
