import pg from 'pg';
import { KeyChanged, revokedKey, unavailableAccount, unknownKey } from '../accounts/authentication.ts';
import type { PoolName } from '../operations/pools.ts';
import { LOCKED, LockLane, MicroBatcher } from '../platform/db/micro-batcher.ts';
import { type Database, serverTime } from '../platform/db/pool.ts';
import { type ErrorKind, SoukError } from '../platform/errors.ts';
import { outageOf, STORE_ANSWER_LIMIT_MS } from '../platform/outage.ts';
import type { GrantKind, OffPeakWindow, Wallet } from './wallets.ts';

/** Within this time, identical calls of an account are one call and charged once. */
export const DEDUPLICATION_SECONDS = 300;

/** The origin of a call: a request with a key, or a batch of an account. */
export interface Caller {
  accountId: number;
  keyHash?: Buffer | undefined;
  /** The version of the key whose limits have been checked. Default: that of a key that never had any. */
  keyVersion?: number | undefined;
  /** The key for which a call of a batch counts. */
  batchKeyHash?: Buffer | null | undefined;
}

/** A call for which admission is requested. */
export interface AdmissionRequest {
  caller: Caller;
  /** UUID proposed by the caller. A joined call returns the id of the call it joined. */
  callId: string;
  operation: string;
  /** Fingerprint of operation and canonical input. Two calls of one account with the same fingerprint are identical. */
  chargeId: string;
  units: number;
  pool: PoolName;
  deadlineAt: number;
  /** The canonical input. It is stored with calls that become jobs. */
  input: unknown;
  /** Where the answer is stored, on a cache hit: the call is then settled in the same step. */
  answer: string | null;
  /** True for a call of a batch, for which no request waits. */
  background: boolean;
  /** An identical call that this one does not join but continues, because its answer is partial. */
  continues?: string | null;
  /** What the account has paid for that answer, also with earlier calls. */
  unitsPaid?: number;
}

/** The minute window after this call; null if the account has no limit of calls per minute. */
export type MinuteRate = { limit: number; remaining: number; resetAt: number } | null;

export type Admission =
  /** Units are reserved. The caller must start the work. */
  | { kind: 'started'; accountId: number; callId: string; rate: MinuteRate }
  /** The answer was in the cache, and the units are charged. */
  | { kind: 'cached'; accountId: number; callId: string; rate: MinuteRate }
  /** An identical call of the account is open, or was accepted less than five minutes ago; nothing is charged. */
  | {
      kind: 'joined';
      accountId: number;
      callId: string;
      finished: boolean;
      /** The joined call is a call of a batch, and no request has waited for it so far. */
      background: boolean;
      answer: string | null;
    };

/** Whether a call would be admitted, and which grant it would draw on first. */
type Prediction =
  | { admitted: true; wallet: Wallet; source: GrantKind }
  | { admitted: false; error: SoukError };

interface AdmissionRow {
  /** Position of the call in the array, from 1. */
  idx: number;
  outcome:
    | 'key_unknown'
    | 'key_revoked'
    | 'account_unavailable'
    | 'key_changed'
    | 'locked'
    | 'joined'
    | 'admitted'
    | 'refused';
  accountId: number;
  callId: string;
  joinedState: 'reserved' | 'settled' | 'released';
  joinedAnswer: string | null;
  joinedBackground: boolean;
  wallet: Wallet;
  source: GrantKind;
  reason: ErrorKind | 'KEY_CAP_OF_DAY' | 'KEY_CAP_OF_MONTH';
  remaining: number;
  resetAt: Date | null;
  minuteLimit: number | null;
  minuteLeft: number;
}

/** An admitted call has the id that its caller has proposed, so it is not read back. */
const ADMIT = {
  name: 'admit',
  text: `select idx, outcome, account_id as "accountId", call_id as "callId", joined_state as "joinedState",
    joined_answer as "joinedAnswer", joined_background as "joinedBackground", wallet, source, reason, remaining,
    reset_at as "resetAt", minute_limit as "minuteLimit", minute_left as "minuteLeft"
  from souk_admit_calls($1, $2, $3, $4, $5, $6, $7, $8)`,
} as const;

/** SQLSTATE of souk_admit_calls while admission is closed. */
const CLOSED = 'SK503';

const CLOSED_RETRY_SECONDS = 30;

/** Every connection that admits calls begins with this statement: see `souk_note_server`. */
export const NOTE_SERVER = 'select souk_note_server()';

/** How long a call waits for its own account, which another transaction has locked. */
const LOCK_PATIENCE_MS = 1_000;

/**
 * @param database with connections that no other work uses, because every request of a customer needs one of them.
 * @param answerLimitMs A statement that the server has not finished by then admits nothing. It must be less than the
 * time that the connections of `database` wait for an answer, so that a call is never charged after its caller was
 * refused.
 */
export function createAdmissions(
  database: Database,
  now: () => number,
  offPeak: OffPeakWindow,
  answerLimitMs = STORE_ANSWER_LIMIT_MS,
) {
  const { ask, undecidedForMs } = createRoundTrips(database, now, offPeak, answerLimitMs);
  const batcher = new LockLane<AdmissionRequest, AdmissionRow>(
    async (batch) => {
      const rows = await ask(batch, { dry: false });
      return rows.map((row) => (row.outcome === 'locked' ? LOCKED : row));
    },
    { patienceMs: LOCK_PATIENCE_MS },
  );
  // Predictions take no locks and charge nothing. They have round trips of their own, so that they do not delay calls.
  const predictions = new MicroBatcher<AdmissionRequest, AdmissionRow>((calls) => ask(calls, { dry: true }));

  return {
    /**
     * The admission is durable when this resolves.
     * @throws SoukError KEY_*, QUOTA_*, or BUSY if the account is locked; KeyChanged. Then nothing is charged. After any other error,
     * `undecidedForMs` returns whether the call may be open or charged all the same.
     */
    async admit(request: AdmissionRequest): Promise<Admission> {
      const row = await batcher.submit(request);
      const { accountId, callId, outcome } = row;
      if (outcome === 'admitted') {
        const admitted = { accountId, callId, rate: rateOf(row) };
        return { kind: request.answer === null ? 'started' : 'cached', ...admitted };
      }
      if (outcome === 'key_changed') throw new KeyChanged();
      if (outcome !== 'joined') throw refusal(row, request.units, now());
      const { joinedState, joinedBackground: background, joinedAnswer: answer } = row;
      const finished = joinedState !== 'reserved';
      return { kind: 'joined', accountId, callId, finished, background, answer };
    },
    undecidedForMs,
    /**
     * Returns how `admit` would treat a new call with this price, and changes nothing.
     * @param caller without a version, the limits of the key are not checked. @throws SoukError KEY_*; KeyChanged.
     */
    async predict(caller: Caller, units: number): Promise<Prediction> {
      const row = await predictions.submit({ ...ANY_CALL, caller, units }).catch(asClosed);
      if (row instanceof SoukError) return { admitted: false, error: row };
      if (row.outcome === 'admitted') return { admitted: true, wallet: row.wallet, source: row.source };
      if (row.outcome === 'key_changed') throw new KeyChanged();
      const error = refusal(row, units, now());
      if (error.kind === 'KEY_INVALID' || error.kind === 'KEY_FORBIDDEN') throw error;
      return { admitted: false, error };
    },
  };
}

export type Admissions = ReturnType<typeof createAdmissions>;

/** Sends the statements of calls, and remembers the failed statements that may still admit their calls. */
function createRoundTrips(
  database: Database,
  now: () => number,
  offPeak: OffPeakWindow,
  answerLimitMs: number,
) {
  /** Calls whose statement has failed but may still admit them, each with the `performance.now()` after which the statement no longer starts. */
  const undecided = new WeakMap<AdmissionRequest, number>();

  async function ask(calls: readonly AdmissionRequest[], { dry }: { dry: boolean }): Promise<AdmissionRow[]> {
    const client = await database.connect();
    const endsAt = performance.now() + answerLimitMs;
    try {
      const { rows } = await client.query<AdmissionRow>({
        ...ADMIT,
        values: [
          new Date(now()),
          DEDUPLICATION_SECONDS,
          offPeak.start,
          offPeak.end,
          offPeak.timezone,
          new Date(serverTime(client) + answerLimitMs),
          dry,
          JSON.stringify(calls.map(dry ? predictedCall : askedCall)),
        ],
      });
      client.release();
      const byPosition: AdmissionRow[] = [];
      for (const row of rows) {
        row.callId ??= calls[row.idx - 1]?.callId ?? '';
        byPosition[row.idx - 1] = row;
      }
      return byPosition;
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code === CLOSED) {
        client.release();
        throw new SoukError('RECOVERING', { retryAfterSeconds: CLOSED_RETRY_SECONDS });
      }
      // A server that stops may have committed. After any other error that it reports, it has not.
      if (!(error instanceof pg.DatabaseError) || outageOf(error) === 'down')
        for (const call of calls) undecided.set(call, endsAt);
      // A new connection reads the time of the server again.
      client.release(error as Error);
      throw error;
    }
  }

  return {
    ask,
    /**
     * Returns for how long PostgreSQL may still begin to admit a call for which `admit` has failed; null: it has not admitted the call.
     * Its account stays locked from then on until the admission is committed, for example while the commit waits for a standby.
     */
    undecidedForMs(request: AdmissionRequest): number | null {
      const endsAt = undecided.get(request);
      return endsAt === undefined ? null : Math.max(0, endsAt - performance.now());
    },
  };
}

/** Returns the refusal of every call while admission is closed. @throws any other error. */
function asClosed(error: unknown): SoukError {
  if (error instanceof SoukError && error.kind === 'RECOVERING') return error;
  throw error;
}

/** Values that a prediction does not depend on. */
const ANY_CALL = {
  callId: '00000000-0000-0000-0000-000000000000',
  operation: '',
  chargeId: '',
  pool: 'market',
  deadlineAt: 0,
  input: null,
  answer: null,
  background: false,
} as const;

/** Returns the fields of souk_asked_call. */
function askedCall(call: AdmissionRequest) {
  const { caller, answer } = call;
  return {
    call_id: call.callId,
    account_id: caller.accountId,
    key_hash: digest(caller.keyHash),
    key_version: caller.keyVersion ?? 0,
    batch_key_hash: digest(caller.batchKeyHash),
    charge_id: `\\x${call.chargeId}`,
    operation: call.operation,
    units: call.units,
    pool: call.pool,
    deadline_at: new Date(call.deadlineAt),
    input: answer === null ? call.input : undefined,
    answer,
    background: call.background,
    continues: call.continues,
    units_paid: call.unitsPaid ?? 0,
  };
}

function predictedCall(call: AdmissionRequest) {
  return { ...askedCall(call), key_version: call.caller.keyVersion };
}

function digest(hash: Buffer | null | undefined): string | undefined {
  return hash ? `\\x${hash.toString('hex')}` : undefined;
}

function rateOf({ minuteLimit, minuteLeft, resetAt }: AdmissionRow): MinuteRate {
  if (minuteLimit === null || resetAt === null) return null;
  return { limit: minuteLimit, remaining: minuteLeft, resetAt: resetAt.getTime() };
}

/** @param cost the beginning of the message. @throws SoukError QUOTA_MAX_UNITS. */
export function checkMaxUnits(
  cost: 'The call costs' | 'The batch can cost up to',
  needed: number,
  maxUnits: number | null,
): void {
  if (maxUnits === null || needed <= maxUnits) return;
  throw new SoukError('QUOTA_MAX_UNITS', {
    message: `${cost} ${needed} ${needed === 1 ? 'unit' : 'units'}; maxUnits is ${maxUnits}.`,
    metadata: { needed, maxUnits },
  });
}

/** `Retry-After` of refusals that end with a purchase rather than at a time. Clients that retry by themselves retry rarely. */
const WITHOUT_RESET_SECONDS = 3600;

/** Returns the error of a call that was not admitted. */
function refusal(row: AdmissionRow, needed: number, now: number): SoukError {
  switch (row.outcome) {
    case 'key_unknown':
      return unknownKey();
    case 'key_revoked':
      return revokedKey();
    case 'account_unavailable':
      return unavailableAccount();
    default: {
      const { reason, wallet, remaining, resetAt, minuteLimit, minuteLeft } = row;
      if (reason === 'KEY_CAP_OF_DAY' || reason === 'KEY_CAP_OF_MONTH') return capReached(row, needed, now);
      const resetSeconds = 60 - Math.floor((now % 60_000) / 1000);
      return new SoukError(reason, {
        ...(minuteLimit === null
          ? {}
          : { rate: { limit: minuteLimit, remaining: minuteLeft, resetSeconds } }),
        metadata: { wallet, needed, remaining, resetAt: resetAt?.toISOString() ?? null },
        retryAfterSeconds: resetAt
          ? Math.max(1, Math.ceil((resetAt.getTime() - now) / 1000))
          : WITHOUT_RESET_SECONDS,
      });
    }
  }
}

function capReached({ reason, remaining, resetAt }: AdmissionRow, needed: number, now: number): SoukError {
  const period = reason === 'KEY_CAP_OF_DAY' ? 'day' : 'month';
  const end = resetAt ?? new Date(now);
  return new SoukError('KEY_CAP_REACHED', {
    message: `The call costs ${needed} units; this API key may use ${remaining} more units in this ${period} (UTC).`,
    metadata: { period, needed, remaining, resetAt: end.toISOString() },
    retryAfterSeconds: Math.max(1, Math.ceil((end.getTime() - now) / 1000)),
  });
}

/** Claims are kept this much longer than calls can join, for gateways whose clocks are behind. */
const CLOCKS_APART_SECONDS = 300;

/** Deletes the claims of settled calls that no identical call can join any more. */
export async function deleteOldClaims(database: Database, now: number): Promise<void> {
  const keptMs = (DEDUPLICATION_SECONDS + CLOCKS_APART_SECONDS) * 1000;
  await database.query('delete from call_claims where accepted_at < $1', [new Date(now - keptMs)]);
}
