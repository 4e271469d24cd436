import { LOCKED, LockLane } from '../platform/db/micro-batcher.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import type { ErrorRecord } from '../platform/errors.ts';

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

export interface Settlements {
  /**
   * Settles or releases a call, once. A second ending changes nothing. Null if the call does not exist.
   * @throws SoukError BUSY if the account stays locked; then nothing is changed.
   */
  end(ending: Ending): Promise<Ended | null>;
  /** See `refundCall`. */
  refund(call: { accountId: number; callId: string }, error: ErrorRecord): Promise<number | null>;
  /** Returns the units that a call was charged; 0: it has not been settled. */
  chargeOf(call: { accountId: number; callId: string }): Promise<number>;
}

/** How long a request waits for its own account, which another transaction has locked. */
const LOCK_PATIENCE_MS = 1_000;

/** @param database with connections that no other work takes. @param patienceMs how long an ending waits for a locked account. */
export function createSettlements(
  database: Database,
  now: () => number,
  patienceMs = LOCK_PATIENCE_MS,
): Settlements {
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
    end: (ending) => batcher.submit(ending),
    refund: (call, error) => refundCall(database, call, error, now()),
    async chargeOf({ accountId, callId }) {
      const { rows } = await database.query<{ units: number }>({
        name: 'charge-of',
        text: `select units_charged as units from finished_calls where account_id = $1 and id = $2 and state = 'settled'`,
        values: [accountId, callId],
      });
      return rows[0]?.units ?? 0;
    },
  };
}

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
  { accountId, callId }: { accountId: number; callId: string },
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
