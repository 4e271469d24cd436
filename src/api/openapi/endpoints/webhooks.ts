import { z } from 'zod';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import { attemptSchema, deliveryRulesSchema, deliverySchema, secretSchema } from '../../../webhooks/view.ts';
import { webhookUrl } from '../../../webhooks/webhook-url.ts';
import { deliveryPageSchema } from '../../webhooks.ts';
import { enveloped } from '../responses.ts';
import { bodySchemaOf, reference } from '../schemas.ts';
import { type Endpoint, endpointPaths, pageOf } from './endpoint.ts';

const delivery = reference(deliverySchema);

const deliveriesPage = pageOf('DeliveriesPage', 'deliveries', deliverySchema);

const settings = z
  .object({ secret: secretSchema.nullable(), delivery: deliveryRulesSchema })
  .register(SCHEMA_NAMES, { id: 'WebhookSettings' });

const newSecret = secretSchema
  .extend({ secret: z.string().describe('The secret, which is shown this once') })
  .register(SCHEMA_NAMES, { id: 'NewWebhookSecret' });

const loggedDelivery = deliverySchema
  .extend({ payload: z.string().describe('The body as it is sent'), log: z.array(attemptSchema) })
  .register(SCHEMA_NAMES, { id: 'LoggedDelivery' });

const test = z.object({ url: webhookUrl(false).meta({ description: 'The address to try', format: 'uri' }) });

const ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/api/webhooks',
    summary: "Tells the state of the account's signing secret, and how deliveries are made.",
    answers: { 200: enveloped('The settings', reference(settings)) },
  },
  {
    method: 'post',
    path: '/api/webhooks/secret',
    summary: 'Gives the account a signing secret, its first or a new one.',
    description:
      'Gives the account a signing secret, its first or a new one. For 24 hours the one of before signs too.',
    answers: { 201: enveloped('The secret, which is shown this once', reference(newSecret)) },
  },
  {
    method: 'post',
    path: '/api/webhooks/test',
    summary: 'Sends a test to an address.',
    body: {
      description: 'Where to',
      content: {
        'application/json': { schema: bodySchemaOf(test), example: { url: 'https://example.com/hook' } },
      },
    },
    answers: { 202: enveloped('The delivery', delivery) },
  },
  {
    method: 'get',
    path: '/api/webhooks/deliveries',
    summary: 'Lists deliveries, the newest first.',
    query: deliveryPageSchema,
    answers: { 200: enveloped('A page', reference(deliveriesPage)) },
  },
  {
    method: 'get',
    path: '/api/webhooks/deliveries/{id}',
    summary: 'Shows a delivery with its body and its attempts.',
    idOf: 'the delivery',
    answers: { 200: enveloped('The delivery', reference(loggedDelivery)) },
    errors: ['DELIVERY_NOT_FOUND'],
  },
  {
    method: 'post',
    path: '/api/webhooks/deliveries/{id}/replay',
    summary: 'Sends a delivery once more, the same body under the same id.',
    idOf: 'the delivery',
    answers: { 202: enveloped('The delivery', delivery) },
    errors: ['DELIVERY_NOT_FOUND'],
  },
];

export const webhookPaths = () => endpointPaths('webhooks', ENDPOINTS);
