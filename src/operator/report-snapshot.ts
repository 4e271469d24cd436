import type { ClientBase } from 'pg';
import type { Database } from '../platform/db/pool.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { SoukError } from '../platform/errors.ts';

/** The reports that a process makes at the same time. */
const AT_ONCE = 2;

let running = 0;

/** PostgreSQL's code of a statement that ran into its limit. */
const CANCELLED = '57014';

/**
 * Reads a report of the operator from one snapshot of the database.
 * @throws SoukError TOO_MANY_OPEN if others are being made, VALIDATION_FAILED if it takes longer than a statement may.
 */
export async function readSnapshot<Report>(
  database: Database,
  read: (client: ClientBase) => Promise<Report>,
): Promise<Report> {
  if (running >= AT_ONCE)
    throw new SoukError('TOO_MANY_OPEN', { message: 'Other reports are being made.', retryAfterSeconds: 5 });
  running += 1;
  try {
    return await inTransaction(database, async (client) => {
      await client.query('set transaction isolation level repeatable read, read only');
      return read(client);
    });
  } catch (error) {
    if ((error as { code?: string }).code !== CANCELLED) throw error;
    const message = 'The report takes too long. Choose fewer days.';
    throw new SoukError('VALIDATION_FAILED', { message, cause: error });
  } finally {
    running -= 1;
  }
}
