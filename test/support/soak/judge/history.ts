/**
 * The history of a run: what customers were granted, asked and received, one event a line of JSON. Everything that the judge
 * knows is here, so this file and the judge import nothing of the service.
 */
export type HistoryEvent =
  | Granted
  | Exchange
  | WantedBatch
  | BatchChange
  | Message
  /** The primary of PostgreSQL died at this time; then its standby became the primary. */
  | { kind: 'fail-over'; at: number }
  | { kind: 'tick'; account: number; scheduleId: string; dueAt: number }
  | FinalEvent;

export type Wallet = 'general' | 'off_peak';

export interface GrantedSubscription {
  id: number;
  wallet: Wallet;
  minuteLimit: number | null;
  dailyLimit: number | null;
  monthlyLimit: number | null;
}

export interface GrantedPack {
  id: number;
  wallet: Wallet;
  units: number;
  rate: number;
  validUntil: number;
}

/** What an account has. The subscriptions are in their first month. */
export interface Granted {
  kind: 'account';
  account: number;
  name: string;
  /** Off-peak hours, local time. */
  window: { start: string; end: string; timezone: string };
  subscriptions: GrantedSubscription[];
  packs: GrantedPack[];
  /** Keys with the units that they may use in a day. */
  caps: { keyId: number; capDay: number }[];
}

/** A request about a call, and what its client received. Times are Unix milliseconds of one machine. */
export interface Exchange {
  kind: 'exchange';
  /** A call; what follows it: a poll of its job, a cancellation, the result at the end; or the revocation of the key. */
  what: 'call' | 'poll' | 'cancel' | 'result' | 'revoke';
  account: number;
  keyId: number;
  /** The operation, and the parameters in one order: equal for requests that are the same call. */
  asked: string;
  sentAt: number;
  endedAt: number;
  /**
   * answered: with the data. accepted: with a job. refused: before any unit was reserved. failed: with an error after
   * units were reserved. unheard: the connection broke, or the client disconnected.
   */
  outcome: 'answered' | 'accepted' | 'refused' | 'failed' | 'unheard';
  /** HTTP status and code, or the reason why there was no answer. */
  said: string;
  jobId: string | null;
  /** As the headers state them. */
  units: number;
  /** Products in an answer, with their site, and those that do not exist; absent for other answers. */
  got?: string[];
  /** Whether the call asked for a message about its end. */
  webhook?: boolean;
}

/** A request for a batch. */
export interface WantedBatch {
  kind: 'batch';
  account: number;
  idempotencyKey: string;
  asins: string[];
  /** null: the request was not answered with a batch. */
  batchId: string | null;
}

/** A request to try the failed items of a batch again, which may have arrived. Its batch may then end once more. */
export interface BatchChange {
  kind: 'retry';
  account: number;
  batchId: string;
}

/** A message that the receiver of an account has received. */
export interface Message {
  kind: 'message';
  account: number;
  /** `webhook-id`. */
  id: string;
  type: string;
  /** The job or batch. */
  subject: string;
  state: string;
  units: number | null;
  /** Of the body. */
  digest: string;
  isSigned: boolean;
}

/** What the public API says at the end. */
export type FinalEvent =
  | { kind: 'ledger'; account: number; lines: LedgerLine[] }
  | { kind: 'quota'; account: number; quota: Quota }
  | { kind: 'usage'; account: number; rows: { day: string; operation: string; units: number }[] }
  | EndedBatch
  | ScheduleRun
  | { kind: 'delivery'; account: number; id: string; type: string; state: string }
  | { kind: 'end'; at: number };

export interface LedgerLine {
  line: number;
  at: string;
  kind: 'grant' | 'charge' | 'reserve' | 'settle' | 'release' | 'refund' | 'expire' | 'revoke' | 'restore';
  source: 'subscription' | 'pack';
  sourceId: number;
  callId: string | null;
  operation: string | null;
  units: number;
  change: number;
  keyId: number | null;
}

type Meter = { used: number };

export interface Quota {
  serverTime: string;
  general: { subscribed: boolean; daily?: Meter; monthly?: Meter };
  off_peak: { subscribed: boolean; daily?: Meter; monthly?: Meter };
  packs: { items: { id: number; remainingUnits: number }[] };
  key: { id: number; used: { day: number } } | null;
}

export interface EndedBatch {
  kind: 'batch end';
  account: number;
  batchId: string;
  scheduleId: string | null;
  state: string;
  finishedAt: string | null;
  hasWebhook: boolean;
  units: number;
  counts: { items: number; done: number; failed: number; cancelled: number; unchanged: number };
  /** Of the results: index, ASIN asked, code, ASIN received. null: not read. */
  results: [number, string, string, string | null][] | null;
}

export interface ScheduleRun {
  kind: 'run';
  account: number;
  scheduleId: string;
  runId: string;
  dueAt: number;
  trigger: string;
  state: string;
  batchId: string | null;
}
