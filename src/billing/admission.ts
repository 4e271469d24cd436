import { revokedKey, unavailableAccount, unknownKey } from '../accounts/authentication.ts';
import type { PoolName } from '../operations/pools.ts';
import { MicroBatcher } from '../platform/db/micro-batcher.ts';
import type { Database } from '../platform/db/pool.ts';
import { type ErrorKind, SoukError } from '../platform/errors.ts';
import type { GrantKind, OffPeakWindow, Wallet } from './wallets.ts';

/** Identical calls of an account within this time are one call, charged once. */
export const DEDUPLICATION_SECONDS = 300;

/** Who asks: whoever shows a key, or an account's own batch. */
export type Caller = { keyHash: Buffer } | { accountId: number };

/** A call to be admitted. */
export interface AdmissionRequest {
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
  | { admitted: true; wallet: Wallet; source: GrantKind }
  | { admitted: false; error: SoukError };

interface AdmissionRow {
  /** Position of the call in the batch, from 1. */
  idx: number;
  outcome: 'key_unknown' | 'key_revoked' | 'account_unavailable' | 'joined' | 'admitted' | 'refused';
  accountId: number;
  callId: string;
  joinedState: 'reserved' | 'settled';
  joinedAnswer: string | null;
  joinedBackground: boolean;
  wallet: Wallet;
  source: GrantKind;
  reason: ErrorKind;
  remaining: number;
  resetAt: Date | null;
  minuteLimit: number | null;
  minuteLeft: number;
}

const ADMIT = `select idx, outcome, account_id as "accountId", call_id as "callId", joined_state as "joinedState",
  joined_answer as "joinedAnswer", joined_background as "joinedBackground", wallet, source, reason, remaining,
  reset_at as "resetAt", minute_limit as "minuteLimit", minute_left as "minuteLeft"
  from souk_admit($1, $2, $3, $4, $5, $6)`;

export interface Admissions {
  /** @throws SoukError KEY_INVALID, KEY_FORBIDDEN or one of QUOTA_*; then nothing was charged. */
  admit(request: AdmissionRequest): Promise<Admission>;
  /** What `admit` would say to a new call of so many units, changing nothing. */
  predict(caller: Caller, units: number): Promise<Prediction>;
}

/** A request, or the question of what would become of it. */
type Asked = AdmissionRequest & { dry?: boolean };

export function createAdmissions(database: Database, now: () => number, offPeak: OffPeakWindow): Admissions {
  const batcher = new MicroBatcher<Asked, AdmissionRow>(async (batch) => {
    const { unique, positions } = collapse(batch);
    const { rows } = await database.query<AdmissionRow>({
      name: 'admit',
      text: ADMIT,
      values: [
        ...[new Date(now()), DEDUPLICATION_SECONDS, offPeak.start, offPeak.end, offPeak.timezone],
        JSON.stringify(unique.map(encode)),
      ],
    });
    const byPosition: AdmissionRow[] = [];
    for (const row of rows) byPosition[row.idx - 1] = row;
    return batch.map((call, i) => {
      const position = positions[i] as number;
      const [row, asked] = [byPosition[position] as AdmissionRow, unique[position] as Asked];
      return asked === call ? row : asRepetition(row, asked);
    });
  });

  return {
    async admit(request) {
      const row = await batcher.submit(request);
      const { accountId, callId, outcome } = row;
      if (outcome === 'admitted') {
        const kind = request.answer === null ? 'started' : 'cached';
        return { kind, accountId, callId, rate: rateOf(row) };
      }
      if (outcome !== 'joined') throw refusal(row, request.units, now());
      const { joinedState, joinedBackground: background, joinedAnswer: answer } = row;
      return { kind: 'joined', accountId, callId, finished: joinedState === 'settled', background, answer };
    },
    async predict(caller, units) {
      const row = await batcher.submit({ ...ANY_CALL, caller, units, dry: true });
      if (row.outcome === 'admitted') return { admitted: true, wallet: row.wallet, source: row.source };
      const error = refusal(row, units, now());
      if (error.kind === 'KEY_INVALID' || error.kind === 'KEY_FORBIDDEN') throw error;
      return { admitted: false, error };
    },
  };
}

/** What a prediction does not depend on. */
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

/** An element of the array that souk_read_calls reads. What is absent is null or false there. */
function encode({ caller, answer, ...call }: Asked) {
  return {
    ...('keyHash' in caller
      ? { key_hash: `\\x${caller.keyHash.toString('hex')}` }
      : { caller_id: caller.accountId }),
    call_id: call.callId,
    operation: call.operation,
    charge_id: `\\x${call.chargeId}`,
    units: call.units,
    pool: call.pool,
    deadline: new Date(call.deadlineAt),
    ...(answer === null ? { input: call.input } : { answer }),
    ...(call.background ? { background: true } : {}),
    ...(call.dry ? { dry: true } : {}),
  };
}

/** Of calls that are the same, by the same caller, only the first needs to ask; the others take its answer. */
function collapse(batch: readonly Asked[]) {
  const unique: Asked[] = [];
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
function asRepetition(first: AdmissionRow, { answer, background }: AdmissionRequest): AdmissionRow {
  if (first.outcome !== 'admitted') return first;
  return {
    ...first,
    outcome: 'joined',
    joinedState: answer === null ? 'reserved' : 'settled',
    joinedAnswer: answer,
    joinedBackground: background,
  };
}

function rateOf({ minuteLimit, minuteLeft, resetAt }: AdmissionRow): MinuteRate {
  if (minuteLimit === null || resetAt === null) return null;
  return { limit: minuteLimit, remaining: minuteLeft, resetAt: resetAt.getTime() };
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
      const { reason, wallet, remaining, resetAt } = row;
      return new SoukError(reason, {
        metadata: { wallet, needed, remaining, resetAt: resetAt?.toISOString() ?? null },
        retryAfterSeconds: resetAt
          ? Math.max(1, Math.ceil((resetAt.getTime() - now) / 1000))
          : WITHOUT_RESET_SECONDS,
      });
    }
  }
}
