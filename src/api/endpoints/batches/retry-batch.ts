import {
  type AccountLimits,
  countOpenBatches,
  limitsFor,
  requireBatchRoom,
} from '../../../batches/account-limits.ts';
import type { Batch } from '../../../batches/batch.ts';
import { retryFailed } from '../../../batches/ending.ts';
import { DEFAULT_TIME_MS, LONGEST_TIME_MS } from '../../../batches/request.ts';
import { type BatchView, batchSchema, batchView } from '../../../batches/view.ts';
import { inTransaction } from '../../../platform/db/transaction.ts';
import { SoukError } from '../../../platform/errors.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { type BatchDeps, batchId, type NotifyDeps, notifyWorkers, ownBatch } from './own-batch.ts';

export const retryBatch = endpoint({
  tag: 'batches',
  method: 'post',
  path: '/api/batches/{id}/retry',
  tool: 'batches_retry',
  startsCalls: true,
  cost: {
    shownBy: '/api/batches/{id}',
    unitsOf: ({ units }) => {
      const { quoted, charged } = units as BatchView['units'];
      return quoted - charged;
    },
  },
  summary: 'Retries the failed items of a finished batch.',
  id: batchId,
  answers: { 202: enveloped('The batch', batchSchema) },
  errors: ['BATCH_STATE', 'LIMIT_REACHED'],

  async handle(deps: BatchDeps & NotifyDeps & { accountLimits: AccountLimits }, { account, id, reply }) {
    const { database, clock } = deps;
    const timeMs = retryTimeMs(await ownBatch(deps, account, id, 'change'));
    const retried = await inTransaction(database, async (client) => {
      await client.query('select 1 from batches where id = $1 for update', [id]);
      const { accountId, keyId } = account;
      const limits = limitsFor(accountId, deps.accountLimits);
      requireBatchRoom(await countOpenBatches(client, accountId), limits);
      return retryFailed(client, id, { deadlineAt: clock.now() + timeMs, keyId });
    });
    if (retried === 0)
      throw new SoukError('BATCH_STATE', { message: 'The batch has no failed items to retry.' });
    await notifyWorkers(deps, id);
    return sendEnvelope(reply, 202, batchView(await ownBatch(deps, account, id)));
  },
});

/** Time for the retried items: as long as the batch had, within limits. @throws SoukError BATCH_STATE for a batch that cannot be retried. */
function retryTimeMs({ createdAt, deadlineAt, finishedAt, state }: Batch): number {
  if (finishedAt === null || state === 'cancelled')
    throw new SoukError('BATCH_STATE', {
      message: `The batch cannot be retried: it is ${finishedAt ? state : 'not finished'}.`,
    });
  return Math.min(Math.max(deadlineAt - createdAt, DEFAULT_TIME_MS), LONGEST_TIME_MS);
}
