import { type Clock, every } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import { type Logger, maskSecrets } from '../platform/log.ts';
import type { Failure, StoringSink } from '../platform/telemetry/call-events.ts';

const WRITE_EVERY_MS = 1_000;

/** The most failures stored per second. Further ones are only in the log of the process, so that they do not fill the database. */
const MAX_PENDING = 50;

const MAX_REASON_CHARACTERS = 4_000;

/** A failure as stored, with its cause as a text for the operator. */
type StoredFailure = Omit<Failure, 'cause'> & { at: string; reason: string };

/** Stores failures, so that the operator can find them by the ids that customers received. */
export function createFailureLog(database: Database, clock: Clock, log: Logger): StoringSink {
  let pending: StoredFailure[] = [];

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
      log.debug({ err: error }, 'failed to write the failure log, will retry');
      pending = [...written, ...pending].slice(0, MAX_PENDING);
    }
  }

  const stop = every(clock, WRITE_EVERY_MS, write);
  return {
    onEvent(event) {
      if (event.type !== 'failure' || pending.length >= MAX_PENDING) return;
      const { code, place, errorId, requestId, callId, accountId, cause } = event;
      const reason = printable(maskSecrets(reasonOf(cause))).slice(0, MAX_REASON_CHARACTERS);
      const at = new Date(clock.now()).toISOString();
      pending.push({ at, code, place, errorId, requestId, callId, accountId, reason });
    },
    async close() {
      await stop();
      await write();
    },
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
