import type { PoolName } from '../operations/pools.ts';

/**
 * The origin of a call: a request with a key, whose limits have been checked in a version (default: that of a key that never
 * had any), or a batch of an account, with the key for which it counts.
 */
export type Caller =
  | {
      keyHash: Buffer;
      keyVersion?: number;
      /** The account of the key, if it is known, which saves a look-up. */
      keyAccountId?: number;
    }
  | { accountId: number; batchKeyHash?: Buffer | null };

/** A call for which admission is requested. */
export interface AdmissionRequest {
  caller: Caller;
  /** UUID proposed by the caller. A joined call returns the id of the call it joined. */
  callId: string;
  operation: string;
  /**
   * Fingerprint of operation and canonical input. Two calls of one account with the same fingerprint are identical.
   */
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

/** A request for admission or, if `dry`, for a prediction. */
export type AdmissionInput = AdmissionRequest & { dry?: boolean };

/**
 * Encodes the arrays of souk_admit_calls, from call_ids on. Texts that we join are several times as fast as arrays of objects for
 * the driver, and as JSON for PostgreSQL; ids, digests and our own names need no escapes.
 */
export function encode(calls: readonly AdmissionInput[]): string[] {
  return COLUMNS.map((fieldOf) => {
    const values = calls.map(fieldOf);
    return values.some((value) => value !== null)
      ? `{${values.map((value) => value ?? 'NULL').join()}}`
      : '{}';
  });
}

const COLUMNS: readonly ((call: AdmissionInput) => string | number | null)[] = [
  ({ callId }) => callId,
  ({ caller }) => (isOfKey(caller) ? caller.keyAccountId : caller.accountId) ?? null,
  ({ caller }) => digest(isOfKey(caller) ? caller.keyHash : caller.batchKeyHash),
  // An absent version is 0, or any if the call is dry.
  ({ caller, dry }) => (isOfKey(caller) && (dry || caller.keyVersion) ? (caller.keyVersion ?? null) : null),
  ({ chargeId }) => `"\\\\x${chargeId}"`,
  ({ operation }) => quoted(operation),
  ({ units }) => units,
  ({ pool }) => quoted(pool),
  ({ deadlineAt }) => `"${new Date(deadlineAt).toISOString()}"`,
  ({ input, answer }) => (answer === null ? quoted(JSON.stringify(input ?? null)) : null),
  ({ answer }) => (answer === null ? null : quoted(answer)),
  ({ caller }) => (isOfKey(caller) ? null : 'true'),
  ({ background }) => (background ? 'true' : null),
  ({ dry }) => (dry ? 'true' : null),
  ({ continues }) => continues ?? null,
  ({ unitsPaid }) => unitsPaid ?? null,
];

function isOfKey(caller: Caller): caller is Extract<Caller, { keyHash: Buffer }> {
  return !('accountId' in caller);
}

function digest(hash: Buffer | null | undefined): string | null {
  return hash ? `"\\\\x${hash.toString('hex')}"` : null;
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
