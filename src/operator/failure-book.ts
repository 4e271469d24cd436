import { type Clock, every } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import { type Logger, maskSecrets } from '../platform/log.ts';

const WRITE_EVERY_MS = 1_000;

/** Of more failures within that time the rest is in the log only: a storm must not fill the database. */
const MOST_AT_ONCE = 50;

const LONGEST_REASON = 4_000;

/** What went wrong on our side or upstream. */
export interface Failure {
  code: string;
  /** The route or the operation. */
  place: string;
  errorId?: string | undefined;
  requestId?: string;
  callId?: string;
  accountId?: number;
  /** For the operator only. */
  reason: string;
}

/** Keeps failures where the operator finds them by the ids that customers were told. */
export interface FailureBook {
  note(failure: Failure): void;
  /** Writes down what was noted so far. */
  write(): Promise<void>;
  close(): Promise<void>;
}

export function createFailureBook(database: Database, clock: Clock, log: Logger): FailureBook {
  let pending: (Failure & { at: string })[] = [];

  async function write(): Promise<void> {
    if (pending.length === 0) return;
    const written = pending;
    pending = [];
    try {
      await database.query(
        `insert into failures (at, code, place, error_id, request_id, call_id, account_id, reason)
         select "at", "code", "place", "errorId", "requestId", "callId", "accountId", "reason"
         from jsonb_to_recordset($1) as f ("at" timestamptz, "code" text, "place" text, "errorId" text,
           "requestId" text, "callId" uuid, "accountId" bigint, "reason" text)`,
        [JSON.stringify(written)],
      );
    } catch (error) {
      log.debug({ err: error }, 'failures were not written down yet');
      pending = [...written, ...pending].slice(0, MOST_AT_ONCE);
    }
  }

  const stop = every(clock, WRITE_EVERY_MS, write);
  return {
    note(failure) {
      if (pending.length >= MOST_AT_ONCE) return;
      const reason = printable(maskSecrets(failure.reason)).slice(0, LONGEST_REASON);
      const at = new Date(clock.now()).toISOString();
      pending.push({ ...failure, reason, at });
    },
    write,
    async close() {
      await stop();
      await write();
    },
  };
}

/** The stack of an error and of what has caused it. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { stack, message, cause } = error;
  return `${stack ?? message}${cause === undefined ? '' : `\nCaused by: ${reasonOf(cause)}`}`;
}

/** PostgreSQL keeps no zero bytes. */
function printable(text: string): string {
  return text.replaceAll('\0', '');
}
