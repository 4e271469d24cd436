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

interface Sums {
  calls: number;
  units: number;
  spent: number;
  saved: number;
}

/**
 * Sums, by operation and hour, the calls and units that were charged and the tokens that were spent and saved. Each process
 * adds its own sums every few seconds, so a process that dies loses its last seconds; only the ledger is exact.
 */
export function createUsageStatistics(database: Database, clock: Clock, log: Logger): StoringSink {
  const sums = writeBehind<string, Sums>(clock, log, {
    what: 'usage statistics',
    everyMs: 5_000,
    // Operations are few.
    most: Number.POSITIVE_INFINITY,
    merge: (a, b) => ({
      calls: a.calls + b.calls,
      units: a.units + b.units,
      spent: a.spent + b.spent,
      saved: a.saved + b.saved,
    }),
    write: (written) => addSums(database, written, clock.now()),
  });
  const add = (operation: string, more: Partial<Sums>) => sums.add(operation, { ...NOTHING, ...more });
  return {
    onEvent(event) {
      switch (event.type) {
        case 'call.cached':
        case 'call.settled':
          add(event.operation, { calls: 1, units: event.units });
          break;
        case 'call.refunded':
          add(event.operation, { units: -event.units });
          break;
        case 'tokens.spent':
          add(event.operation, { spent: event.tokens });
          break;
        case 'answer.hit':
        case 'source.hit':
          if (event.tokens > 0) add(event.operation, { saved: event.tokens });
          break;
        default:
      }
    },
    close: sums.close,
  };
}

const NOTHING: Sums = { calls: 0, units: 0, spent: 0, saved: 0 };

async function addSums(database: Database, sums: ReadonlyMap<string, Sums>, now: number): Promise<void> {
  // All processes write in the same order, so that they cannot deadlock.
  const lines = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
  await database.query(
    `insert into operation_hours as h (hour, operation, calls, units_sold, tokens_spent, tokens_saved)
     select date_trunc('hour', $1::timestamptz, 'UTC'), * from unnest($2::text[], $3::bigint[], $4::bigint[],
       $5::double precision[], $6::double precision[])
     on conflict (hour, operation) do update set calls = h.calls + excluded.calls,
       units_sold = h.units_sold + excluded.units_sold, tokens_spent = h.tokens_spent + excluded.tokens_spent,
       tokens_saved = h.tokens_saved + excluded.tokens_saved`,
    [
      new Date(now),
      lines.map(([operation]) => operation),
      ...(['calls', 'units', 'spent', 'saved'] as const).map((field) => lines.map(([, sum]) => sum[field])),
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
