import type { PoolName } from '../operations/pools.ts';

/**
 * The origin of a call: a request with a key, whose limits have been checked in a version (default: that of a key that never
 * had any), or a batch of an account, with the key that created it.
 */
export type Caller =
  | { keyHash: Buffer; keyVersion?: number }
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
}

/** A request for admission or, if `dry`, for a prediction. */
export type AdmissionInput = AdmissionRequest & { dry?: boolean };

/**
 * Encodes the array that souk_read_calls reads. Absent fields become null or false there. A text is several times as fast as
 * objects for JSON.stringify; ids, digests and our own names need no escapes.
 */
export function encode(calls: readonly AdmissionInput[]): string {
  return `[${calls.map(encodeCall).join()}]`;
}

function encodeCall(call: AdmissionInput): string {
  const { caller, callId, operation, chargeId, units, pool, deadlineAt, input, answer, background, dry } =
    call;
  const { continues } = call;
  return `{${keyOf(caller, dry)},"call_id":"${callId}","operation":"${operation}","charge_id":"\\\\x${chargeId}","units":${units},"pool":"${pool}","deadline":"${new Date(deadlineAt).toISOString()}"${
    answer === null ? `,"input":${JSON.stringify(input ?? null)}` : `,"answer":${JSON.stringify(answer)}`
  }${background ? ',"background":true' : ''}${continues ? `,"continues":"${continues}"` : ''}${dry ? ',"dry":true' : ''}}`;
}

function keyOf(caller: Caller, dry = false): string {
  const hashField = (hash: Buffer) => `"key_hash":"\\\\x${hash.toString('hex')}"`;
  if ('accountId' in caller) {
    const { accountId, batchKeyHash } = caller;
    return `"caller_id":${accountId}${batchKeyHash ? `,${hashField(batchKeyHash)}` : ''}`;
  }
  const { keyHash, keyVersion = dry ? null : 0 } = caller;
  // An absent version is 0, or any if the call is dry.
  const version = keyVersion || (dry && keyVersion !== null) ? `,"key_version":${keyVersion}` : '';
  return `${hashField(keyHash)}${version}`;
}
