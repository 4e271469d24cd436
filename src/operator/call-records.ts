import { isTestAccount } from '../accounts/authentication.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import { type Logger, maskSecrets } from '../platform/log.ts';
import {
  type CallEvent,
  type CallEventSink,
  type Failure,
  PROVIDER_OUTCOMES,
  type ProviderOutcome,
  type StoringSink,
} from '../platform/telemetry/call-events.ts';
import { writeBehind } from '../platform/write-behind.ts';
import { OUR_FAILURES } from './account-facts.ts';

/**
 * Passes only events that are not about a test account. Metrics, and the usage statistics that the operator compares with
 * purchases and tokens, are about live calls.
 */
export function ofLiveCalls(sink: CallEventSink): CallEventSink {
  return (event) => {
    if ('accountId' in event && event.accountId !== undefined && isTestAccount(event.accountId)) return;
    sink(event);
  };
}

const MAX_REASON_CHARACTERS = 4_000;

/** A failure as stored, with its cause as a text for the operator. */
type StoredFailure = Omit<Failure, 'cause'> & { at: string; reason: string };

/** Stores failures, so that the operator can find them by the ids that customers received. */
export function createFailureLog(database: Database, clock: Clock, log: Logger): StoringSink {
  const failures = writeBehind<StoredFailure, StoredFailure>(clock, log, {
    what: 'the failure log',
    everyMs: 1_000,
    // Further failures of a second are only in the log of the process, so that they do not fill the database.
    most: 50,
    write: (written) =>
      database.query(
        `insert into failures (at, code, place, error_id, request_id, call_id, account_id, reason)
         select "at", "code", "place", "errorId", "requestId", "callId", "accountId", "reason"
         from jsonb_to_recordset($1) as f ("at" timestamptz, "code" text, "place" text, "errorId" text,
           "requestId" text, "callId" uuid, "accountId" bigint, "reason" text)`,
        [JSON.stringify([...written.values()])],
      ),
  });
  return {
    onEvent(event) {
      if (event.type !== 'failure') return;
      const { code, place, errorId, requestId, callId, accountId, cause } = event;
      const reason = printable(maskSecrets(reasonOf(cause))).slice(0, MAX_REASON_CHARACTERS);
      const at = new Date(clock.now()).toISOString();
      const failure = { at, code, place, errorId, requestId, callId, accountId, reason };
      failures.add(failure, failure);
    },
    close: failures.close,
  };
}

/** The stack of an error and of its causes. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { stack, message, cause } = error;
  return `${stack ?? message}${cause === undefined ? '' : `\nCaused by: ${reasonOf(cause)}`}`;
}

/** PostgreSQL stores no zero bytes. */
function printable(text: string): string {
  return text.replaceAll('\0', '');
}

/** Stores when keys were last accepted. */
export function createKeyUse(database: Database, clock: Clock, log: Logger): StoringSink {
  const usedAt = writeBehind<string, Date>(clock, log, {
    what: 'the use of keys',
    // Writing with each call would double its writes.
    everyMs: 30_000,
    most: 50_000,
    write: (used) =>
      database.query(
        `update api_keys k set last_used_at = greatest(k.last_used_at, u.at)
         from unnest($1::bytea[], $2::timestamptz[]) as u (hash, at)
         where k.hash = u.hash and k.purpose = 'customer'`,
        [[...used.keys()].map((hash) => Buffer.from(hash, 'latin1')), [...used.values()]],
      ),
  });
  return {
    onEvent(event) {
      if (event.type === 'key.accepted') usedAt.add(event.keyHash.toString('latin1'), new Date(clock.now()));
    },
    close: usedAt.close,
  };
}

/** Sums of an account and operation in a UTC day; tokens in thousandths. */
type DaySums = Record<(typeof DAY_FIELDS)[number], number>;

const DAY_FIELDS = ['calls', 'joined', 'spent', 'cached', 'merged'] as const;

/** Sums calls and tokens by day, account and operation, for the margin, like the usage statistics. */
export function createTokenSums(database: Database, clock: Clock, log: Logger): StoringSink {
  const sumsOf = (value: (field: (typeof DAY_FIELDS)[number]) => number) =>
    Object.fromEntries(DAY_FIELDS.map((field) => [field, value(field)])) as DaySums;
  const sums = writeBehind<string, DaySums>(clock, log, {
    what: 'sums of tokens',
    everyMs: 5_000,
    most: 50_000,
    merge: (a, b) => sumsOf((field) => a[field] + b[field]),
    write(written) {
      const lines = [...written].sort(([a], [b]) => (a < b ? -1 : 1));
      const keys = lines.map(([key]) => key.split(' '));
      return database.query(
        `insert into token_days as d (day, account_id, operation, ${DAY_FIELDS.join(', ')})
         select * from unnest($1::date[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
         on conflict (day, account_id, operation) do update set
           ${DAY_FIELDS.map((field) => `${field} = d.${field} + excluded.${field}`).join(', ')}`,
        [
          ...[0, 1, 2].map((i) => keys.map((key) => key[i])),
          ...DAY_FIELDS.map((field) => lines.map(([, sum]) => sum[field])),
        ],
      );
    },
  });
  return {
    onEvent(event) {
      const field = dayFieldOf(event);
      if (field === null || !('operation' in event) || !('accountId' in event)) return;
      const day = new Date(clock.now()).toISOString().slice(0, 10);
      const tokens = 'tokens' in event ? Math.round(event.tokens * 1000) : 1;
      if (tokens > 0)
        sums.add(
          `${day} ${event.accountId} ${event.operation}`,
          sumsOf((one) => (one === field ? tokens : 0)),
        );
    },
    close: sums.close,
  };
}

function dayFieldOf(event: CallEvent): (typeof DAY_FIELDS)[number] | null {
  switch (event.type) {
    case 'call.cached':
    case 'call.settled':
      return 'calls';
    case 'call.joined':
      return 'joined';
    case 'tokens.spent':
      return 'spent';
    case 'answer.hit':
      return 'cached';
    case 'source.hit':
      return event.isMerged ? 'merged' : 'cached';
    default:
      return null;
  }
}

/** The upper bounds of run times, in milliseconds, by which the usage statistics count jobs. Each has a column. */
export const RUN_TIME_BOUNDS_MS = [
  ...[50, 100, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500],
  ...[10_000, 15_000, 20_000, 30_000, 60_000, 120_000, 300_000, 900_000],
] as const;

type BoundColumn = `ms_${(typeof RUN_TIME_BOUNDS_MS)[number]}`;

export const BOUND_COLUMNS = RUN_TIME_BOUNDS_MS.map((bound): BoundColumn => `ms_${bound}`);

export const HOUR_COLUMNS = [
  'calls',
  'units_sold',
  'tokens_spent',
  'tokens_saved',
  'cache_hits',
  'failed',
  'jobs',
  ...BOUND_COLUMNS,
] as const;

/** Sums of an operation. A field that is absent is zero. */
type HourSums = { [Column in (typeof HOUR_COLUMNS)[number]]?: number };

/**
 * Sums by operation and hour: the calls and units that were charged, the tokens that were spent and that cached data saved, cache hits, failures, and
 * the run times of jobs. Each process adds its own sums every few seconds, so a process that dies loses its last seconds; only the
 * ledger is exact.
 */
export function createUsageStatistics(database: Database, clock: Clock, log: Logger): StoringSink {
  const sums = writeBehind<string, HourSums>(clock, log, {
    what: 'usage statistics',
    everyMs: 5_000,
    // Operations are few.
    most: Number.POSITIVE_INFINITY,
    merge: addTo,
    write: (written) => addSums(database, written, clock.now()),
  });
  return {
    onEvent(event) {
      if (!('operation' in event)) return;
      const more = hourSumsOf(event);
      if (more !== null) sums.add(event.operation, more);
    },
    close: sums.close,
  };
}

function hourSumsOf(event: CallEvent): HourSums | null {
  switch (event.type) {
    case 'call.cached':
      return { calls: 1, units_sold: event.units, cache_hits: 1 };
    case 'call.settled':
      return { calls: 1, units_sold: event.units };
    case 'call.refunded':
      return { units_sold: -event.units };
    case 'call.released':
      return OUR_FAILURES.includes(event.error) ? { failed: 1 } : null;
    case 'job.ended': {
      const column = BOUND_COLUMNS[RUN_TIME_BOUNDS_MS.findIndex((bound) => event.durationMs <= bound)];
      return column ? { jobs: 1, [column]: 1 } : { jobs: 1 };
    }
    case 'tokens.spent':
      return { tokens_spent: event.tokens };
    case 'answer.hit':
      return event.tokens > 0 ? { tokens_saved: event.tokens } : null;
    case 'source.hit':
      return event.tokens > 0 && !event.isMerged ? { tokens_saved: event.tokens } : null;
    default:
      return null;
  }
}

/** Adds to the earlier sums, which nothing else has, so that a call makes no new object. */
function addTo(earlier: HourSums, later: HourSums): HourSums {
  for (const column in later) {
    const name = column as keyof HourSums;
    earlier[name] = (earlier[name] ?? 0) + (later[name] ?? 0);
  }
  return earlier;
}

async function addSums(database: Database, sums: ReadonlyMap<string, HourSums>, now: number): Promise<void> {
  // All processes write in the same order, so that they cannot deadlock.
  const lines = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
  await database.query(
    `insert into operation_hours as h (hour, operation, ${HOUR_COLUMNS.join(', ')})
     select date_trunc('hour', $1::timestamptz, 'UTC'), * from unnest($2::text[],
       ${HOUR_COLUMNS.map((_, i) => `$${i + 3}::double precision[]`).join(', ')})
     on conflict (hour, operation) do update set ${HOUR_COLUMNS.map((column) => `${column} = h.${column} + excluded.${column}`).join(', ')}`,
    [
      new Date(now),
      lines.map(([operation]) => operation),
      ...HOUR_COLUMNS.map((column) => lines.map(([, sum]) => sum[column] ?? 0)),
    ],
  );
}

type AccountSums = Record<ProviderOutcome | 'tokens', number>;

/** Sums requests and tokens of the accounts at a provider by hour, like the usage statistics. */
export function createAccountStatistics(
  database: Database,
  provider: string,
  clock: Clock,
  log: Logger,
): StoringSink {
  const fields = [...PROVIDER_OUTCOMES, 'tokens'] as const;
  const sumsOf = (value: (field: (typeof fields)[number]) => number) =>
    Object.fromEntries(fields.map((field) => [field, value(field)])) as AccountSums;
  const sums = writeBehind<string, AccountSums>(clock, log, {
    what: 'statistics of accounts',
    everyMs: 5_000,
    // Accounts are few.
    most: Number.POSITIVE_INFINITY,
    merge: (a, b) => sumsOf((field) => a[field] + b[field]),
    write(written) {
      const lines = [...written].sort(([a], [b]) => (a < b ? -1 : 1));
      return database.query(
        `insert into provider_account_hours as h (provider, hour, account, ${fields.join(', ')})
         select $1, date_trunc('hour', $2::timestamptz, 'UTC'), * from unnest($3::text[], $4::bigint[], $5::bigint[],
           $6::bigint[], $7::bigint[], $8::bigint[], $9::double precision[])
         on conflict (provider, account, hour) do update set
           ${fields.map((field) => `${field} = h.${field} + excluded.${field}`).join(', ')}`,
        [
          provider,
          new Date(clock.now()),
          lines.map(([account]) => account),
          ...fields.map((field) => lines.map(([, sum]) => sum[field])),
        ],
      );
    },
  });
  return {
    onEvent(event) {
      if (event.type !== 'provider.used') return;
      const { account, outcome, tokens } = event;
      sums.add(
        account,
        sumsOf((field) => (field === 'tokens' ? tokens : Number(field === outcome))),
      );
    },
    close: sums.close,
  };
}
