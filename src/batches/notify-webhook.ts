import type { Clock } from '../platform/clock.ts';
import { enqueue } from '../webhooks/deliveries.ts';
import { findBatchById } from './batch.ts';
import type { OnFinished } from './ending.ts';
import { batchView } from './view.ts';

/** Creates the delivery for the webhook of a finished batch, in the transaction that finishes the batch. */
export function createBatchNotifier(clock: Clock): OnFinished {
  return async (client, batchId) => {
    const batch = await findBatchById(client, batchId);
    if (!batch?.webhook) return;
    const { accountId, webhook: url } = batch;
    await enqueue(client, { accountId, url, type: 'batch.completed', data: batchView(batch) }, clock.now());
  };
}
