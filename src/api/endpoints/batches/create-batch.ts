import type { FastifyRequest } from 'fastify';
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

export const createBatch = endpoint({
  tag: 'batches',
  method: 'post',
  path: '/api/batches',
  tool: 'batches_create',
  follows: 'batch',
  startsCalls: true,
  summary: 'Creates a batch: one operation for many items, run in the background.',
  description:
    'Creates a batch: one operation for many items, run in the background. Send one JSON document, or NDJSON with one item per line and the settings in the query.',
  query: dryRunQuery,
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
  answers: {
    200: enveloped('With dryRun: the price of the batch', quote),
    202: enveloped('The batch', batchSchema, 'Location'),
  },
  errors: ['IDEMPOTENCY_CONFLICT', 'LIMIT_REACHED', 'STORAGE_EXCEEDED', 'QUOTA_MAX_UNITS'],

  async handle(deps: UploadDeps, call) {
    const { dryRun } = call.query;
    const upload = isNdjson(call.request) ? 'ndjson' : 'json';
    // Passes on the settings only: neither the key nor ignored parameters.
    const query = upload === 'ndjson' ? parseAs(batchQuerySchema, call.request.query) : {};
    return sendToWorker(deps, call, (ids) => ({ kind: 'batch', ...ids, upload, query, dryRun }));
  },
});

function isNdjson({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.toLowerCase().startsWith('application/x-ndjson') ?? false;
}
