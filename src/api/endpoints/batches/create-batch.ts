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
    calls: z.int().describe('The calls the items are done by'),
    units: z.int().describe('What the batch costs at most'),
    admitted: z.boolean(),
  })
  .register(SCHEMA_NAMES, { id: 'BatchQuote' });

export const createBatch = endpoint({
  tag: 'batches',
  method: 'post',
  path: '/api/batches',
  tool: 'batches_create',
  follows: 'batch',
  summary: 'Has many items of one operation done in the background.',
  description:
    'Has many items of one operation done in the background: as one JSON document, or as an item a line with the settings in the query. The calls of the items cost their usual units.',
  query: dryRunQuery,
  uploadQuery: batchQuerySchema.partial(),
  upload: {
    description: 'Items, 100,000 and 16 MiB at most. The settings in the query are for application/x-ndjson',
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
    200: enveloped('With dryRun: what the batch would cost', quote),
    202: enveloped('The batch', batchSchema, 'Location'),
  },
  errors: ['IDEMPOTENCY_CONFLICT', 'QUOTA_MAX_UNITS'],

  async handle(deps: UploadDeps, call) {
    const { dryRun } = call.query;
    const upload = isNdjson(call.request) ? 'ndjson' : 'json';
    // Only the settings of the query travel: not the key, and no parameter that is ignored.
    const query = upload === 'ndjson' ? parseAs(batchQuerySchema, call.request.query) : {};
    return sendToWorker(deps, call, (ids) => ({ kind: 'batch', ...ids, upload, query, dryRun }));
  },
});

function isNdjson({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.toLowerCase().startsWith('application/x-ndjson') ?? false;
}
