import type { Database, Queryable } from '../platform/db/pool.ts';
import { only, onlyRow, unixMs } from '../platform/db/rows.ts';
import type { Logger } from '../platform/log.ts';
import { auditBooks, type Fault } from './books.ts';

/** Whether calls are admitted. Times are Unix milliseconds. */
export interface AdmissionState {
  /** null: calls are admitted. */
  closedAt: number | null;
  reason: 'restored' | 'failed-over' | null;
  /** Records between this moment and `closedAt` may be missing. */
  recordedUntil: number | null;
  /** Whether an audit has found faults since then. */
  hasFaults: boolean;
  /** The exact time of `closedAt`, for PostgreSQL. */
  closing: string | null;
}

export function readAdmissionState(database: Queryable) {
  return onlyRow<AdmissionState>(
    database,
    `select ${unixMs('closed_at')} as "closedAt", reason, ${unixMs('recorded_until')} as "recordedUntil",
       has_faults as "hasFaults", closed_at::text as closing from admission_state`,
  );
}

/** Compares the server with the one on which calls were admitted, and closes admission if it is another one. */
export async function noteServer(database: Queryable): Promise<AdmissionState> {
  await database.query('select souk_note_server()');
  return readAdmissionState(database);
}

/**
 * Admits calls again. @param closing the time at which admission was closed, so that a later closing stays.
 * @param note for the status page. @returns whether admission was closed and is open.
 */
export async function openAdmission(
  database: Queryable,
  { closing }: Pick<AdmissionState, 'closing'>,
  note: string,
): Promise<boolean> {
  const { rows } = await database.query<{ opened: boolean | null }>(
    'select souk_open_admission($1, $2) as opened',
    [note, closing],
  );
  return only(rows).opened === true;
}

/** The most faults of each promise that are shown. */
const MOST_FAULTS = 20;

/** What an audit of the books has found, and how many calls were open. */
export interface Audit {
  faults: Fault[];
  openCalls: number;
}

/** Audits the books as they are at one moment, while the service runs. Closed admission stays closed. */
export async function auditNow(database: Database): Promise<Audit> {
  const client = await database.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    await client.query('set local statement_timeout = 0');
    // It reads whole tables. Without statistics, as after a restore, PostgreSQL would look up each row.
    await client.query('set local enable_nestloop = off');
    const { rows } = await client.query<{ count: number }>('select count(*) as count from open_calls');
    const faults = await auditBooks(client, { most: MOST_FAULTS });
    await client.query('commit');
    client.release();
    return { faults, openCalls: only(rows).count };
  } catch (error) {
    // The end of the connection ends the transaction.
    client.release(error as Error);
    throw error;
  }
}

const VERIFIED = 'The records have been checked, and calls are accepted again.';

/**
 * Opens admission after an audit without faults, and remembers that another one had faults.
 * @param state before the audit. @returns whether admission was closed and is open.
 */
export async function concludeAudit(
  database: Queryable,
  state: Pick<AdmissionState, 'closing'>,
  { faults }: Audit,
): Promise<boolean> {
  if (faults.length === 0) return openAdmission(database, state, VERIFIED);
  await database.query('update admission_state set has_faults = true where closed_at = $1', [state.closing]);
  return false;
}

/**
 * After a fail-over, audits the books and admits calls again if they are right. An operator decides after a restore, and after an
 * audit with faults.
 */
export async function reopenAfterFailOver(database: Database, log: Logger): Promise<void> {
  const state = await readAdmissionState(database);
  if (state.reason !== 'failed-over' || state.hasFaults) return;
  const audit = await auditNow(database);
  const promises = [...new Set(audit.faults.map(({ promise }) => promise))];
  if (await concludeAudit(database, state, audit))
    log.warn('the books are right after a fail-over; calls are admitted again');
  else if (promises.length > 0)
    log.error({ promises }, 'the books are wrong after a fail-over; no call is admitted');
}
