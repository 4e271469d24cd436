import { batchSchema, batchView } from '../../../batches/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { type BatchDeps, batchId, ownBatch } from './own-batch.ts';

export const getBatch = endpoint({
  tag: 'batches',
  method: 'get',
  path: '/api/batches/{id}',
  tool: 'batches_get',
  follows: 'batch',
  summary: "Returns a batch's status.",
  id: batchId,
  answers: { 200: enveloped('The batch', batchSchema) },

  async handle(deps: Pick<BatchDeps, 'database'>, { account, id, reply }) {
    return sendEnvelope(reply, 200, batchView(await ownBatch(deps, account, id)));
  },
});
