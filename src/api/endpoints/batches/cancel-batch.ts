import { cancelBatch as cancel, type OnFinished } from '../../../batches/ending.ts';
import { batchSchema, batchView } from '../../../batches/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { type BatchDeps, batchId, type NotifyDeps, notifyWorkers, ownBatch } from './own-batch.ts';

interface CancelDeps extends BatchDeps, NotifyDeps {
  onBatchFinished: OnFinished;
}

export const cancelBatch = endpoint({
  tag: 'batches',
  method: 'delete',
  path: '/api/batches/{id}',
  tool: 'batches_cancel',
  follows: 'batch',
  summary: 'Cancels the unfinished items of a batch. Results stay available.',
  id: batchId,
  answers: { 200: enveloped('The batch', batchSchema) },

  async handle(deps: CancelDeps, { account, id, reply }) {
    await ownBatch(deps, account, id, 'change');
    await cancel(deps.database, account.accountId, id, deps.clock.now(), deps.onBatchFinished);
    await notifyWorkers(deps, id);
    return sendEnvelope(reply, 200, batchView(await ownBatch(deps, account, id)));
  },
});
