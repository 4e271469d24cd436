import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { BATCH_STATES, type Batch, findBatch, listBatches } from '../batches/batch.ts';
import { cancelBatch, retryFailed } from '../batches/ending.ts';
import { DEFAULT_TIME_MS, LONGEST_TIME_MS } from '../batches/request.ts';
import { batchQuerySchema } from '../batches/request-schemas.ts';
import { batchView } from '../batches/view.ts';
import { boolean, integer, oneOf } from '../operations/params/scalars.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { SoukError } from '../platform/errors.ts';
import { sendResults } from './batch-results.ts';
import { sendEnvelope } from './envelope.ts';
import type { Gateway } from './gateway.ts';
import { isUuid, uuidParameter } from './ids.ts';
import { accountOf, parseAs } from './request-input.ts';
import { handOver, uploadRoute } from './uploads.ts';

const dryRunSchema = z.object({ dryRun: boolean().default(false) });

export const batchListSchema = z.object({
  state: oneOf(BATCH_STATES).optional().describe('Only batches in this state'),
  scheduleId: uuidParameter('a schedule').optional(),
  limit: integer({ min: 1, max: 100 }).default(50).describe('Batches a page'),
  cursor: uuidParameter('the last batch of the page before').optional(),
});

/** Many items of one operation, done in the background. All free but the calls they are done by. */
export function registerBatches(app: FastifyInstance, gateway: Gateway): void {
  const { database, clock, redis, keys, log } = gateway;

  app.post('/api/batches', uploadRoute(gateway), (request, reply) => {
    const { dryRun } = parseAs(dryRunSchema, request.query);
    const upload = isNdjson(request) ? 'ndjson' : 'json';
    // Nothing else of the address travels: neither the key nor what nobody reads.
    const query = upload === 'ndjson' ? parseAs(batchQuerySchema, request.query) : {};
    return handOver(gateway, request, reply, (ids) => ({ kind: 'batch', ...ids, upload, query, dryRun }));
  });

  app.get('/api/batches', async (request, reply) => {
    const accountId = await accountOf(gateway, request, () => parseAs(batchListSchema, request.query));
    const { state, scheduleId, limit, cursor } = parseAs(batchListSchema, request.query);
    const batches = await listBatches(database, accountId, {
      state: state ?? null,
      scheduleId: scheduleId ?? null,
      before: cursor ?? null,
      limit,
    });
    const nextCursor = batches.length === limit ? (batches.at(-1)?.batchId ?? null) : null;
    return sendEnvelope(reply, 200, { batches: batches.map(batchView), nextCursor }, { now: clock.now() });
  });

  app.get('/api/batches/:id', async (request, reply) => {
    return sendEnvelope(reply, 200, batchView(await ownBatch(request)), { now: clock.now() });
  });

  app.get('/api/batches/:id/results', async (request, reply) =>
    sendResults(gateway, request, reply, await ownBatch(request)),
  );

  app.post('/api/batches/:id/retry', async (request, reply) => {
    const { batchId, createdAt, deadlineAt, finishedAt, state } = await ownBatch(request);
    if (finishedAt === null || state === 'cancelled')
      throw new SoukError('BATCH_STATE', { message: `The batch is ${finishedAt ? state : 'not finished'}.` });
    const timeMs = Math.min(Math.max(deadlineAt - createdAt, DEFAULT_TIME_MS), LONGEST_TIME_MS);
    const retried = await inTransaction(database, async (client) => {
      await client.query('select 1 from batches where id = $1 for update', [batchId]);
      return retryFailed(client, batchId, clock.now() + timeMs);
    });
    if (retried === 0) throw new SoukError('BATCH_STATE', { message: 'No item of the batch has failed.' });
    await tellWorkers(batchId);
    return sendEnvelope(reply, 202, batchView(await ownBatch(request)), { now: clock.now() });
  });

  app.delete('/api/batches/:id', async (request, reply) => {
    const { accountId, batchId } = await ownBatch(request);
    await cancelBatch(database, accountId, batchId, clock.now(), gateway.onBatchFinished);
    await tellWorkers(batchId);
    return sendEnvelope(reply, 200, batchView(await ownBatch(request)), { now: clock.now() });
  });

  /** Workers look by themselves every second; this only saves that time. */
  async function tellWorkers(batchId: string): Promise<void> {
    await redis
      .publish(keys.batchesChannel, batchId)
      .catch((error: unknown) => log.warn({ err: error }, 'telling workers of a batch failed'));
  }

  /** The batch a request names. @throws SoukError BATCH_NOT_FOUND. */
  async function ownBatch(request: FastifyRequest): Promise<Batch> {
    const accountId = await accountOf(gateway, request);
    const { id } = request.params as { id: string };
    const batch = isUuid(id) ? await findBatch(database, accountId, id) : null;
    if (!batch) throw new SoukError('BATCH_NOT_FOUND');
    return batch;
  }
}

function isNdjson({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.toLowerCase().startsWith('application/x-ndjson') ?? false;
}
