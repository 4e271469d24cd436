import type { Clock } from '../platform/clock.ts';
import { enqueue } from '../webhooks/deliveries.ts';
import { findBatchById } from './batch.ts';
import type { OnFinished } from './ending.ts';
import { batchView } from './view.ts';

/** Tells the webhook of a batch that it has finished: in the same transaction, so that neither is without the other. */
export function createBatchNotifier(clock: Clock): OnFinished {
  return async (client, batchId) => {
    const batch = await findBatchById(client, batchId);
    if (!batch?.webhook) return;
    const { accountId, webhook: url } = batch;
    await enqueue(client, { accountId, url, type: 'batch.completed', data: batchView(batch) }, clock.now());
  };
}
