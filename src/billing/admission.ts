import { revokedKey, unavailableAccount, unknownKey } from '../accounts/authentication.ts';
import type { PoolName } from '../operations/pools.ts';
import { MicroBatcher } from '../platform/db/micro-batcher.ts';
import type { Database } from '../platform/db/pool.ts';
import { type ErrorKind, SoukError } from '../platform/errors.ts';
import type { OffPeakWindow, Source, Wallet } from './wallets.ts';

/** Identical calls of an account within this time are one call, charged once. */
export const DEDUPLICATION_SECONDS = 300;

/** Who asks: whoever shows a key, or an account's own batch. */
export type Caller = { keyHash: Buffer } | { accountId: number };

/** A call that asks to be let in. */
export interface CallRequest {
  caller: Caller;
  /** UUID, proposed by the caller; a joined call answers with the id of the call it joined. */
  callId: string;
  operation: string;
  /** Fingerprint of operation and canonical input: what makes two calls of one account the same. */
  chargeId: string;
  units: number;
  pool: PoolName;
  deadlineAt: number;
  /** The canonical input; kept with calls that become jobs. */
  input: unknown;
  /** Where the answer is, if it is at hand: the call is then settled in the same step. */
  answer: string | null;
  /** Nobody waits for it: a call of a batch. */
  background: boolean;
}

/** The minute bucket after this call; null where calls a minute are not limited. */
export type MinuteRate = { limit: number; remaining: number; resetAt: number } | null;

export type Admission =
  /** Units are reserved; the caller must see to it that the work is done. */
  | { kind: 'started'; accountId: number; callId: string; rate: MinuteRate }
  /** The answer was at hand; the units are charged. */
  | { kind: 'cached'; accountId: number; callId: string; rate: MinuteRate }
  /** The account asked the same less than five minutes ago, or still waits for it; nothing is charged. */
  | {
      kind: 'joined';
      accountId: number;
      callId: string;
      finished: boolean;
      /** It is a call of a batch, for which nobody has waited so far. */
      background: boolean;
      answer: string | null;
    };

/** Whether a call would be let in, and what it would draw on first. */
export type Prediction =
  | { admitted: true; wallet: Wallet; source: Source }
  | { admitted: false; error: SoukError };

interface AdmissionRow {
  idx: number;
  outcome: 'key_unknown' | 'key_revoked' | 'account_unavailable' | 'joined' | 'admitted' | 'refused';
  account_id: number | null;
  call_id: string;
  joined_state: 'reserved' | 'settled';
  joined_answer: string | null;
  joined_background: boolean | null;
  wallet: Wallet | null;
  source: Source;
  reason: ErrorKind;
  remaining: number;
  reset_at: Date | null;
  minute_limit: number | null;
  minute_left: number;
}

export interface Admissions {
  /** @throws SoukError KEY_INVALID, KEY_FORBIDDEN or one of QUOTA_*; then nothing was charged. */
  admit(request: CallRequest): Promise<Admission>;
  /** What `admit` would say to a new call of so many units, changing nothing. */
  predict(caller: Caller, units: number): Promise<Prediction>;
}

export function createAdmissions(database: Database, now: () => number, offPeak: OffPeakWindow): Admissions {
  const batcher = new MicroBatcher<CallRequest & { dry?: boolean }, AdmissionRow>(async (batch) => {
    const { unique, positions } = collapse(batch);
    const { rows } = await database.query<AdmissionRow>({
      name: 'admit',
      text: 'select * from souk_admit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)',
      values: [
        new Date(now()),
        DEDUPLICATION_SECONDS,
        ...[offPeak.start, offPeak.end, offPeak.timezone],
        unique.map(({ caller }) => ('keyHash' in caller ? caller.keyHash : null)),
        unique.map((call) => call.callId),
        unique.map((call) => call.operation),
        unique.map((call) => Buffer.from(call.chargeId, 'hex')),
        unique.map((call) => call.units),
        unique.map((call) => call.pool),
        unique.map((call) => new Date(call.deadlineAt)),
        unique.map((call) => (call.answer === null ? JSON.stringify(call.input) : null)),
        unique.map((call) => call.answer),
        unique.map((call) => call.dry ?? false),
        unique.map(({ caller }) => ('accountId' in caller ? caller.accountId : null)),
        unique.map((call) => call.background),
      ],
    });
    const byPosition: AdmissionRow[] = [];
    for (const row of rows) byPosition[row.idx - 1] = row;
    return batch.map((call, i) => {
      const row = byPosition[positions[i] as number] as AdmissionRow;
      const isRepetition = unique[positions[i] as number] !== call;
      return isRepetition ? asRepetition(row, unique[positions[i] as number] as CallRequest) : row;
    });
  });

  return {
    async admit(request) {
      const row = await batcher.submit(request);
      const accountId = row.account_id ?? 0;
      switch (row.outcome) {
        case 'admitted':
          return {
            kind: request.answer === null ? 'started' : 'cached',
            accountId,
            callId: row.call_id,
            rate: rateOf(row),
          };
        case 'joined':
          return {
            kind: 'joined',
            accountId,
            callId: row.call_id,
            finished: row.joined_state === 'settled',
            background: row.joined_background ?? false,
            answer: row.joined_answer,
          };
        default:
          throw refusal(row, request.units, now());
      }
    },
    async predict(caller, units) {
      const row = await batcher.submit({
        caller,
        callId: '00000000-0000-0000-0000-000000000000',
        operation: '',
        chargeId: '',
        units,
        pool: 'market',
        deadlineAt: 0,
        input: null,
        answer: null,
        background: false,
        dry: true,
      });
      if (row.outcome === 'admitted')
        return { admitted: true, wallet: row.wallet as Wallet, source: row.source };
      const error = refusal(row, units, now());
      if (error.kind === 'KEY_INVALID' || error.kind === 'KEY_FORBIDDEN') throw error;
      return { admitted: false, error };
    },
  };
}

/** Of calls that are the same, by the same caller, only the first needs to ask; the others take its answer. */
function collapse(batch: readonly (CallRequest & { dry?: boolean })[]) {
  const unique: (CallRequest & { dry?: boolean })[] = [];
  const seen = new Map<string, number>();
  const positions = batch.map((call) => {
    const identity = call.dry ? null : `${nameOf(call.caller)}${call.chargeId}`;
    const known = identity === null ? undefined : seen.get(identity);
    if (known !== undefined) return known;
    if (identity !== null) seen.set(identity, unique.length);
    return unique.push(call) - 1;
  });
  return { unique, positions };
}

function nameOf(caller: Caller): string {
  return 'keyHash' in caller ? caller.keyHash.toString('latin1') : `${caller.accountId}/`;
}

/** What the call after an admitted one gets when both are the same: it joins. Other outcomes hold for both. */
function asRepetition(first: AdmissionRow, { answer, background }: CallRequest): AdmissionRow {
  if (first.outcome !== 'admitted') return first;
  return {
    ...first,
    outcome: 'joined',
    joined_state: answer === null ? 'reserved' : 'settled',
    joined_answer: answer,
    joined_background: background,
  };
}

function rateOf(row: AdmissionRow): MinuteRate {
  if (row.minute_limit === null || row.reset_at === null) return null;
  return { limit: row.minute_limit, remaining: row.minute_left, resetAt: row.reset_at.getTime() };
}

/** Where time alone mends nothing, only a purchase does: clients that try again by themselves need not hurry. */
const WITHOUT_RESET_SECONDS = 3600;

function refusal(row: AdmissionRow, needed: number, now: number): SoukError {
  switch (row.outcome) {
    case 'key_unknown':
      return unknownKey();
    case 'key_revoked':
      return revokedKey();
    case 'account_unavailable':
      return unavailableAccount();
    default: {
      const { reason, wallet, remaining, reset_at: resetAt } = row;
      return new SoukError(reason, {
        metadata: { wallet, needed, remaining, resetAt: resetAt?.toISOString() ?? null },
        retryAfterSeconds: resetAt
          ? Math.max(1, Math.ceil((resetAt.getTime() - now) / 1000))
          : WITHOUT_RESET_SECONDS,
      });
    }
  }
}
