import type { Stored } from '../src/billing/admission.ts';
import { isStored } from '../src/billing/flushes.ts';
import type { Clock } from '../src/platform/clock.ts';
import type { Database } from '../src/platform/db/pool.ts';
import { SoukError } from '../src/platform/errors.ts';
import { retryDuringOutage } from '../src/platform/retry-during-outage.ts';

/**
 * Waits until the disk has the admission of a call. A customer learns nothing about the call before.
 * @throws SoukError BUSY if PostgreSQL has lost the call in a crash; then it costs nothing.
 */
export async function untilStored(
  { database, clock }: { database: Database; clock: Clock },
  { accountId, callId, stored }: { accountId: number; callId: string; stored: Stored },
): Promise<void> {
  try {
    await stored;
  } catch {
    if (await retryDuringOutage(clock, () => isStored(database, { accountId, callId }))) return;
    throw new SoukError('BUSY', {
      message: 'The database was restarted and has lost this call, which costs nothing; retry.',
      retryAfterSeconds: 1,
    });
  }
}
