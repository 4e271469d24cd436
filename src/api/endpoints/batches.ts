import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  BATCH_STATES,
  type Batch,
  batchFileName,
  batchSchema,
  batchView,
  findBatch,
  listBatches as findBatches,
} from '../../batches/batch.ts';
import { CHANGES_TABLE, changesOf } from '../../batches/changes.ts';
import { cancelBatch as cancel, failedCalls, type OnFinished, retryFailed } from '../../batches/ending.ts';
import { type AccountLimits, countOpenBatches, limitsFor, requireBatchRoom } from '../../batches/limits.ts';
import {
  batchBodySchema,
  batchQuerySchema,
  DEFAULT_TIME_MS,
  LONGEST_TIME_MS,
} from '../../batches/read-batch.ts';
import { RESULT_ORDERS } from '../../batches/results.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { integer, oneOf, text } from '../../operations/params/scalars.ts';
import { mediaTypeOf, TABLE_FORMAT_NAMES, TABLE_FORMATS } from '../../operations/tables/formats.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { invalidParameters, SoukError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { Redis } from '../../platform/redis.ts';
import type { RedisKeys } from '../../platform/redis-keys.ts';
import { writeTable } from '../../results/tables/write-table.ts';
import { dispositionOf, sendEnvelope, setFacts } from '../envelope.ts';
import { uuidParameter } from '../ids.ts';
import { enveloped, headers, partialAnswers, TABLE_CONTENT } from '../openapi/responses.ts';
import { formatOf, parseAs } from '../operations/call-options.ts';
import { owned, readableOperations } from '../plugins/authentication.ts';
import { type BatchFileDeps, batchFile, batchResults } from '../result-files.ts';
import { downloadsOf, sendFile } from '../send-file.ts';
import { sendPieces } from '../send-results.ts';
import { dryRunQuery, sendToWorker, type UploadDeps } from '../uploads.ts';
import { endpoint } from './endpoint.ts';
import { cutPage, pageOf } from './page.ts';

interface BatchDeps {
  database: Database;
  clock: Clock;
}

interface NotifyDeps {
  redis: Redis;
  keys: RedisKeys;
  log: Logger;
}

const batchId = { of: 'the batch', unknown: 'BATCH_NOT_FOUND' } as const;

const ownBatch = owned(batchId.unknown, ({ database }: { database: Database }, accountId, id) =>
  findBatch(database, accountId, id),
);

/** Publishes that a batch has changed. Workers also poll for changes every second, so a lost message only costs time. */
async function notifyWorkers({ redis, keys, log }: NotifyDeps, id: string): Promise<void> {
  await redis
    .publish(keys.batchesChannel, id)
    .catch((error: unknown) => log.warn({ err: error }, 'failed to publish a batch change'));
}

const quote = z
  .object({
    dryRun: z.literal(true),
    operation: z.string(),
    items: z.int(),
    calls: z.int().describe('Number of calls for the items'),
    units: z.int().describe('Highest price of the batch'),
    admitted: z.boolean().describe('Whether the account has room for the batch now'),
    rejectReason: z.string().nullable().describe('Error code that the batch would return'),
    rejectMessage: z.string().nullable(),
  })
  .register(SCHEMA_NAMES, { id: 'BatchQuote' });

/** What a batch and its quote share. */
const NEW_BATCH = {
  tag: 'batches',
  method: 'post',
  uploadQuery: batchQuerySchema.partial(),
  upload: {
    description:
      'The batch, with at most 100,000 items and 16 MiB. With application/x-ndjson, the settings are query parameters',
    schema: batchBodySchema,
    example: { operation: 'market.product', params: { domain: 1 }, split: { asins: ['B08N5WRWNX'] } },
    otherContent: {
      'application/x-ndjson': {
        schema: { type: 'string', maxLength: 16_777_216, pattern: '^[\\s\\S]*$' },
        example: '{"domain":1,"asins":["B08N5WRWNX"]}\n',
      },
    },
  },
  errors: ['IDEMPOTENCY_CONFLICT', 'LIMIT_REACHED', 'STORAGE_EXCEEDED', 'QUOTA_MAX_UNITS'],
} as const;

const createBatch = endpoint({
  ...NEW_BATCH,
  path: '/api/batches',
  act: 'batch.created',
  tool: 'batches_create',
  follows: 'batch',
  startsCalls: true,
  summary: 'Creates a batch: one operation for many items, run in the background.',
  description:
    'Creates a batch: one operation for many items, run in the background. Send one JSON document, or NDJSON with one item per line and the settings in the query.',
  query: dryRunQuery,
  answers: { 202: enveloped('The batch', batchSchema, 'Location') },
  handle: (deps: UploadDeps, call) => sendBatch(deps, call, call.query.dryRun),
});

const quoteBatch = endpoint({
  ...NEW_BATCH,
  path: '/api/batches/quote',
  act: null,
  summary: 'Checks a batch and returns its price, without creating it.',
  answers: { 200: enveloped('The price of the batch', quote) },
  errors: ['QUOTA_MAX_UNITS'],
  handle: (deps: UploadDeps, call) => sendBatch(deps, call, true),
});

function sendBatch(
  deps: UploadDeps,
  call: Parameters<typeof sendToWorker>[1],
  dryRun: boolean,
): Promise<FastifyReply> {
  const upload = isNdjson(call.request) ? 'ndjson' : 'json';
  // Passes on the settings only: neither the key nor ignored parameters.
  const query = upload === 'ndjson' ? parseAs(batchQuerySchema, call.request.query) : {};
  return sendToWorker(deps, call, (ids) => ({ kind: 'batch', ...ids, upload, query, dryRun }));
}

function isNdjson({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.toLowerCase().startsWith('application/x-ndjson') ?? false;
}

const listBatches = endpoint({
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
      state,
      scheduleId,
      before,
      operations: readableOperations(account),
      limit: limit + 1,
    });
    const { entries, nextCursor } = cutPage(found, limit, ({ batchId }) => batchId);
    return sendEnvelope(reply, 200, { batches: entries.map(batchView), nextCursor });
  },
});

const getBatch = endpoint({
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

interface CancelDeps extends BatchDeps, NotifyDeps {
  onBatchFinished: OnFinished;
}

const cancelBatch = endpoint({
  tag: 'batches',
  method: 'delete',
  path: '/api/batches/{id}',
  act: 'batch.cancelled',
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

const getBatchResults = endpoint({
  tag: 'batches',
  method: 'get',
  path: '/api/batches/{id}/results',
  tool: 'batches_get_results',
  summary: 'Returns the results of a batch so far.',
  description:
    'Returns the results of a batch so far: as NDJSON (one object per item with `index`, `params`, `code`, and `data` or `msg`), or as a table with `table` or another form.',
  id: batchId,
  occupies: downloadsOf,
  query: z.object({
    order: oneOf(RESULT_ORDERS)
      .default('item')
      .describe(
        'item: in the order of the items, up to the first unfinished item; finished: in the order in which items finished',
      ),
    format: oneOf(TABLE_FORMAT_NAMES)
      .optional()
      .describe('Default: that of the header Accept, or ndjson. All but ndjson need operations with rows'),
    table: text({ maxLength: 50 })
      .optional()
      .meta({
        description: 'A table of the operation, such as products, history, daily or offers',
        examples: ['products'],
      }),
    cursor: integer({ min: 0 })
      .nullable()
      .default(null)
      .meta({ description: 'Index of the last item that the client has received', examples: [99] }),
  }),
  answers: {
    200: {
      description: 'The results so far',
      headers: headers('X-Batch-Finished', 'ETag', 'Last-Modified', 'Accept-Ranges'),
      content: TABLE_CONTENT,
    },
    ...partialAnswers(),
  },
  errors: ['RANGE_NOT_SATISFIABLE', 'STORAGE_EXCEEDED'],

  async handle(deps: BatchFileDeps, { account, id, query, request, reply }) {
    const batch = await ownBatch(deps, account, id);
    const form = { ...query, format: query.format ?? formatOf(request)?.format ?? ('ndjson' as const) };
    const { cursor, format, table } = form;
    const refused = (problem: string) => invalidParameters([{ parameter: 'cursor', problem }]);
    if (cursor !== null && (format !== 'ndjson' || table !== undefined))
      throw refused('can be used with format=ndjson and without a table only');
    if (cursor !== null && cursor >= batch.items.total)
      throw refused(`must be the index of an item, 0 to ${batch.items.total - 1}, got ${cursor}`);
    setFacts(reply);
    const { finishedAt } = batch;
    if (finishedAt !== null && cursor === null)
      return sendFile(request, reply, await batchFile(deps, reply, { ...batch, finishedAt }, form));
    const { contentType, isCompressible, disposition, pieces } = await batchResults(deps, batch, form);
    reply.headers({
      ...disposition,
      'content-type': contentType,
      'x-batch-finished': String(finishedAt !== null),
    });
    if (request.method === 'HEAD') return reply.send(Readable.from([]));
    return sendPieces(reply, pieces(), { isCompressible });
  },
});

const getBatchChanges = endpoint({
  tag: 'batches',
  method: 'get',
  path: '/api/batches/{id}/changes',
  summary: 'Returns what has changed in a run of a schedule with onlyChanges: values before and after.',
  description:
    'Returns what has changed in a run of a schedule with onlyChanges since the run before, so far: one row for each changed value, with its key, column, and values before and after. Has rows for operations whose results form a table, and at most 5,000 of a call.',
  id: batchId,
  occupies: 'downloads',
  query: z.object({
    format: oneOf(TABLE_FORMAT_NAMES).optional().describe('Default: that of the header Accept, or ndjson'),
  }),
  answers: {
    200: {
      description: 'The changes so far',
      headers: headers('X-Batch-Finished'),
      content: Object.fromEntries(
        TABLE_FORMAT_NAMES.map((name) => [mediaTypeOf(name), { schema: { type: 'string' } }]),
      ),
    },
  },

  async handle({ database }: Pick<BatchDeps, 'database'>, { account, id, query, request, reply }) {
    const { format = formatOf(request)?.format ?? 'ndjson' } = query;
    const batch = await ownBatch({ database }, account, id);
    setFacts(reply);
    const { contentType, isCompressible } = TABLE_FORMATS[format];
    reply.headers({
      'content-type': contentType,
      'content-disposition': dispositionOf(batchFileName(batch, { format, table: CHANGES_TABLE.name })),
      'x-batch-finished': String(batch.finishedAt !== null),
    });
    const table = writeTable(format, CHANGES_TABLE, changesOf(database, id));
    return sendPieces(reply, table, { isCompressible });
  },
});

const retryBatch = endpoint({
  tag: 'batches',
  method: 'post',
  path: '/api/batches/{id}/retry',
  act: 'batch.retried',
  tool: 'batches_retry',
  startsCalls: true,
  summary: 'Retries the failed items of a finished batch.',
  id: batchId,
  query: dryRunQuery,
  answers: { 202: enveloped('The batch', batchSchema) },
  errors: ['BATCH_STATE', 'LIMIT_REACHED'],

  async handle(
    deps: BatchDeps & NotifyDeps & { accountLimits: AccountLimits },
    { account, id, query, reply },
  ) {
    const { database, clock } = deps;
    const batch = await ownBatch(deps, account, id, 'change');
    const timeMs = retryTimeMs(batch);
    if (query.dryRun) {
      const failed = await failedCalls(database, id);
      requireFailed(failed.calls);
      return sendEnvelope(reply, 200, {
        dryRun: true,
        operation: batch.operation,
        ...failed,
        admitted: true,
      });
    }
    const retried = await inTransaction(database, async (client) => {
      await client.query('select 1 from batches where id = $1 for update', [id]);
      const { accountId, keyId } = account;
      const limits = limitsFor(accountId, deps.accountLimits);
      requireBatchRoom(await countOpenBatches(client, accountId), limits);
      return retryFailed(client, id, { deadlineAt: clock.now() + timeMs, keyId });
    });
    requireFailed(retried);
    await notifyWorkers(deps, id);
    return sendEnvelope(reply, 202, batchView(await ownBatch(deps, account, id)));
  },
});

/** @throws SoukError BATCH_STATE for a batch without failed calls. */
function requireFailed(calls: number): void {
  if (calls === 0) throw new SoukError('BATCH_STATE', { message: 'The batch has no failed items to retry.' });
}

/** Time for the retried items: as long as the batch had, within limits. @throws SoukError BATCH_STATE for a batch that cannot be retried. */
function retryTimeMs({ createdAt, deadlineAt, finishedAt, state }: Batch): number {
  if (finishedAt === null || state === 'cancelled')
    throw new SoukError('BATCH_STATE', {
      message: `The batch cannot be retried: it is ${finishedAt ? state : 'not finished'}.`,
    });
  return Math.min(Math.max(deadlineAt - createdAt, DEFAULT_TIME_MS), LONGEST_TIME_MS);
}

/** Batches: one operation for many items, run in the background. The endpoints are free; the calls of the items are not. */
export const BATCH_ENDPOINTS = [
  createBatch,
  quoteBatch,
  listBatches,
  getBatch,
  cancelBatch,
  getBatchResults,
  getBatchChanges,
  retryBatch,
];
