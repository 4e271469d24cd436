import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { batchBodySchema, batchQuerySchema } from '../../../batches/request-schemas.ts';
import { batchSchema } from '../../../batches/view.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import { enveloped } from '../../openapi/responses.ts';
import { parseAs } from '../../request-input.ts';
import { dryRunQuery, sendToWorker, type UploadDeps } from '../../uploads.ts';
import { endpoint } from '../endpoint.ts';

const quote = z
  .object({
    dryRun: z.literal(true),
    operation: z.string(),
    items: z.int(),
    calls: z.int().describe('Number of calls for the items'),
    units: z.int().describe('Highest price of the batch'),
    admitted: z.boolean(),
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

export const createBatch = endpoint({
  ...NEW_BATCH,
  path: '/api/batches',
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

export const quoteBatch = endpoint({
  ...NEW_BATCH,
  path: '/api/batches/quote',
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
