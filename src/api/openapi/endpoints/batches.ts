import { z } from 'zod';
import { batchBodySchema, batchQuerySchema } from '../../../batches/request-schemas.ts';
import { type BatchView, batchSchema } from '../../../batches/view.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import { boolean } from '../../../operations/params/scalars.ts';
import { resultsSchema } from '../../batch-results.ts';
import { batchListSchema } from '../../batches.ts';
import { enveloped, headers } from '../responses.ts';
import { bodySchemaOf, reference } from '../schemas.ts';
import { type Endpoint, endpointPaths, pageOf } from './endpoint.ts';

const batch = reference(batchSchema);

const batchesPage = pageOf('BatchesPage', 'batches', batchSchema);

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

const dryRun = boolean().default(false).describe('Only check the request and say what it would cost');

const example = { operation: 'market.product', params: { domain: 1 }, split: { asins: ['B08N5WRWNX'] } };

export const BATCH_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/api/batches',
    tool: 'batches_create',
    summary: 'Has many items of one operation done in the background.',
    description:
      'Has many items of one operation done in the background: as one JSON document, or as an item a line with the settings in the query. The calls of the items cost their usual units.',
    query: z.object({ dryRun, ...batchQuerySchema.partial().shape }),
    body: {
      description:
        'Items, 100,000 and 16 MiB at most. The settings in the query are for application/x-ndjson',
      content: {
        'application/json': { schema: bodySchemaOf(batchBodySchema), example },
        'application/x-ndjson': {
          schema: { type: 'string', maxLength: 16_777_216, pattern: '^[\\s\\S]*$' },
          example: '{"domain":1,"asins":["B08N5WRWNX"]}\n',
        },
      },
    },
    answers: {
      200: enveloped('With dryRun: what the batch would cost', reference(quote)),
      202: enveloped('The batch', batch, 'Location'),
    },
    errors: ['IDEMPOTENCY_CONFLICT', 'QUOTA_MAX_UNITS'],
  },
  {
    method: 'get',
    path: '/api/batches',
    tool: 'batches_list',
    summary: 'Lists batches, the newest first.',
    query: batchListSchema,
    answers: { 200: enveloped('A page', reference(batchesPage)) },
  },
  {
    method: 'get',
    path: '/api/batches/{id}',
    tool: 'batches_get',
    summary: 'Tells how a batch is going.',
    idOf: 'the batch',
    answers: { 200: enveloped('The batch', batch) },
    errors: ['BATCH_NOT_FOUND'],
  },
  {
    method: 'delete',
    path: '/api/batches/{id}',
    tool: 'batches_cancel',
    summary: 'Cancels what of a batch is not done; results stay.',
    idOf: 'the batch',
    answers: { 200: enveloped('The batch', batch) },
    errors: ['BATCH_NOT_FOUND'],
  },
  {
    method: 'get',
    path: '/api/batches/{id}/results',
    tool: 'batches_get_results',
    summary: 'Streams what a batch has brought so far.',
    description:
      'Streams what a batch has brought so far: a JSON object a line with `index`, `params`, `code` and `data` or `msg`, or a table.',
    idOf: 'the batch',
    query: resultsSchema,
    answers: {
      200: {
        description: 'Results',
        headers: headers('X-Batch-Finished'),
        content: {
          'application/x-ndjson': { schema: { type: 'string' } },
          'text/csv': { schema: { type: 'string' } },
        },
      },
    },
    errors: ['BATCH_NOT_FOUND'],
  },
  {
    method: 'post',
    path: '/api/batches/{id}/retry',
    tool: 'batches_retry',
    cost: {
      toldBy: '/api/batches/{id}',
      unitsOf: ({ units }) => {
        const { quoted, charged } = units as BatchView['units'];
        return quoted - charged;
      },
    },
    summary: 'Does the failed items of a finished batch again.',
    idOf: 'the batch',
    answers: { 202: enveloped('The batch', batch) },
    errors: ['BATCH_NOT_FOUND', 'BATCH_STATE'],
  },
];

export const batchPaths = () => endpointPaths('batches', BATCH_ENDPOINTS);
