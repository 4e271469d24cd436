import { LOCKED, LockLane } from '../platform/db/micro-batcher.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { type ErrorRecord, SoukError, toRecord } from '../platform/errors.ts';
import { type Call, findOverdueCalls } from './calls.ts';

/** How a call ended: `units` settles it, `error` releases it. Exactly one of them is set. */
interface Ending {
  accountId: number;
  callId: string;
  /** The units to charge. More than the reserved units are never charged. */
  units: number;
  /** Where the answer is stored. */
  answer: string | null;
  error: ErrorRecord | null;
  startedAt: number | null;
  /** When the job first asked the source of its data, and when the last answer arrived. */
  askedAt?: number | null;
  answeredAt?: number | null;
  attempts: number;
}

export interface Ended {
  /** False if the call had already ended: nothing was changed, and `state` is how it ended. */
  endedNow: boolean;
  state: 'settled' | 'released';
  unitsCharged: number;
}

/** How long a request waits for its own account, which another transaction has locked. */
const LOCK_PATIENCE_MS = 1_000;

/** @param database with connections that no other work takes. @param patienceMs how long an ending waits for a locked account. */
export function createSettlements(database: Database, now: () => number, patienceMs = LOCK_PATIENCE_MS) {
  const batcher = new LockLane<Ending, Ended | null>(
    async (batch) => {
      const { rows } = await database.query<Ended & { idx: number; state: Ended['state'] | null }>({
        name: 'finish',
        text: `select idx, ended_now as "endedNow", state, units_charged as "unitsCharged"
          from souk_finish($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
        values: [
          new Date(now()),
          batch.map((ending) => ending.accountId),
          batch.map((ending) => ending.callId),
          batch.map((ending) => ending.units),
          batch.map((ending) => ending.answer),
          batch.map((ending) => (ending.error ? JSON.stringify(ending.error) : null)),
          batch.map((ending) => dateOf(ending.startedAt)),
          batch.map((ending) => ending.attempts),
          batch.map((ending) => dateOf(ending.askedAt)),
          batch.map((ending) => dateOf(ending.answeredAt)),
        ],
      });
      const results: (Ended | null | typeof LOCKED)[] = batch.map(() => null);
      for (const { idx, ...ended } of rows) results[idx - 1] = ended.state === null ? LOCKED : ended;
      return results;
    },
    { patienceMs },
  );
  return {
    /**
     * Settles or releases a call, once. A second ending changes nothing. Null if the call does not exist.
     * @throws SoukError BUSY if the account stays locked; then nothing is changed.
     */
    end: (ending: Ending) => batcher.submit(ending),
    /** See `refundCall`. */
    refund: (call: CallName, error: ErrorRecord) => refundCall(database, call, error, now()),
    /** Returns the units paid for the answer of a call, with those of the calls that it continues; 0: it has not been settled. */
    async paidFor({ accountId, callId }: CallName): Promise<number> {
      const { rows } = await database.query<{ units: number }>({
        name: 'paid-for',
        text: `select units_charged + coalesce(units_paid, 0) as units from finished_calls where account_id = $1 and id = $2 and state = 'settled'`,
        values: [accountId, callId],
      });
      return rows[0]?.units ?? 0;
    },
  };
}

export type Settlements = ReturnType<typeof createSettlements>;

type CallName = Pick<Ending, 'accountId' | 'callId'>;

function dateOf(unixMs: number | null | undefined): Date | null {
  return unixMs == null ? null : new Date(unixMs);
}

/**
 * Refunds a settled call whose answer was lost and cannot be made again: it then counts as released with this error. Any
 * other call does not change.
 * @param database a transaction that holds the lock of the call's row in `batch_calls`, or none.
 * @returns the refunded units; null if the call was not settled.
 */
export async function refundCall(
  database: Queryable,
  { accountId, callId }: CallName,
  error: ErrorRecord,
  now: number,
): Promise<number | null> {
  const { rows } = await database.query<{ units: number | null }>({
    name: 'refund',
    text: 'select souk_refund($1, $2, $3, $4) as units',
    values: [new Date(now), accountId, callId, JSON.stringify(error)],
  });
  return rows[0]?.units ?? null;
}

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
