import { type CancelDeps, cancelJob } from '../../jobs/cancel.ts';
import { endCall, lockCall, type OnFinished } from '../../src/batches/ending.ts';
import { callsToCancel, type FedCall } from '../../src/batches/feeding.ts';
import { findCall } from '../../src/billing/calls.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { toRecord } from '../../src/platform/error-record.ts';
import { SoukError } from '../../src/platform/errors.ts';

export interface CancelFedDeps extends CancelDeps {
  database: Database;
  onFinished: OnFinished;
}

/** Cancels the calls under way of batches that were cancelled. */
export async function cancelFedCalls(deps: CancelFedDeps): Promise<void> {
  for (const fed of await callsToCancel(deps.database)) {
    if (fed.joined) {
      await leaveJoined(deps, fed);
      continue;
    }
    const call = await findCall(deps.database, fed.accountId, fed.callId);
    if (call?.state !== 'reserved') continue;
    await cancelJob(deps, call).catch((error: unknown) => {
      // A request waits for this call, so the call continues.
      if (!(error instanceof SoukError && error.kind === 'JOB_SHARED')) throw error;
    });
  }
}

/** Ends a call of the batch that has joined the call of another request. The call of the other request continues. */
async function leaveJoined({ database, clock, onFinished }: CancelFedDeps, fed: FedCall): Promise<void> {
  const error = toRecord(new SoukError('CANCELLED'));
  await inTransaction(database, async (client) => {
    if (await lockCall(client, fed))
      await endCall(client, fed, { state: 'cancelled', error }, clock.now(), onFinished);
  });
}
