import { z } from 'zod';
import { BATCH_STATES, listBatches as findBatches } from '../../../batches/batch.ts';
import { batchSchema, batchView } from '../../../batches/view.ts';
import { integer, oneOf } from '../../../operations/params/scalars.ts';
import { sendEnvelope } from '../../envelope.ts';
import { uuidParameter } from '../../ids.ts';
import { enveloped } from '../../openapi/responses.ts';
import { readableOperations } from '../../scopes.ts';
import { endpoint } from '../endpoint.ts';
import { cutPage, pageOf } from '../page.ts';
import type { BatchDeps } from './own-batch.ts';

export const listBatches = endpoint({
  tag: 'batches',
  method: 'get',
  path: '/api/batches',
  tool: 'batches_list',
  summary: 'Lists batches, newest first.',
  query: z.object({
    state: oneOf(BATCH_STATES).optional().describe('Only batches in this state'),
    scheduleId: uuidParameter('a schedule or tracker').optional(),
    limit: integer({ min: 1, max: 100 }).default(50).describe('Batches per page'),
    cursor: uuidParameter('the last batch of the previous page').optional(),
  }),
  answers: { 200: enveloped('A page of batches', pageOf('BatchesPage', 'batches', batchSchema)) },

  async handle({ database }: Pick<BatchDeps, 'database'>, { account, query, reply }) {
    const { state = null, scheduleId = null, cursor: before = null, limit } = query;
    const found = await findBatches(database, account.accountId, {
      ...{ state, scheduleId, before, operations: readableOperations(account) },
      limit: limit + 1,
    });
    const { entries, nextCursor } = cutPage(found, limit, ({ batchId }) => batchId);
    return sendEnvelope(reply, 200, { batches: entries.map(batchView), nextCursor });
  },
});
