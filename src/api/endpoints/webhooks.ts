import { z } from 'zod';
import type { WebhookSettings } from '../../batches/limits.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { exactObject } from '../../operations/params/request.ts';
import { integer, oneOf } from '../../operations/params/scalars.ts';
import { findMessage, listMessages } from '../../outbox/log.ts';
import { refusalOf } from '../../outbox/webhooks/address-guard.ts';
import {
  attemptSchema,
  countPendingTests,
  DELIVERY_RULES,
  DELIVERY_STATES,
  deleteOldTests,
  deliveryRulesSchema,
  deliverySchema,
  deliveryView,
  enqueue,
  replayDelivery as replay,
  TEST_TYPE,
} from '../../outbox/webhooks/deliveries.ts';
import { findSecretState, requireSecret, rotateSecret, secretSchema } from '../../outbox/webhooks/secrets.ts';
import { requireWebhookRoom, WEBHOOK_LIMITS, webhookUrl } from '../../outbox/webhooks/webhook-limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { invalidParameters, SoukError } from '../../platform/errors.ts';
import type { SecretBox } from '../../platform/secret-box.ts';
import { sendEnvelope } from '../envelope.ts';
import { uuidParameter } from '../ids.ts';
import { enveloped } from '../openapi/responses.ts';
import { endpoint } from './endpoint.ts';
import { cutPage, pageOf } from './page.ts';

const settings = z
  .object({ secret: secretSchema.nullable(), delivery: deliveryRulesSchema })
  .register(SCHEMA_NAMES, { id: 'WebhookSettings' });

const getWebhookSettings = endpoint({
  tag: 'webhooks',
  method: 'get',
  path: '/api/webhooks',
  summary: "Returns the state of the account's signing secret, and the rules for deliveries.",
  answers: { 200: enveloped('The webhook settings', settings) },

  async handle({ database, clock }: { database: Database; clock: Clock }, { account, reply }) {
    const secret = await findSecretState(database, account.accountId, clock.now());
    return sendEnvelope(reply, 200, { secret, delivery: DELIVERY_RULES });
  },
});

interface SecretDeps {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
}

const newSecret = secretSchema
  .extend({ secret: z.string().describe('The secret; it is shown only once') })
  .register(SCHEMA_NAMES, { id: 'NewWebhookSecret' });

const rotateWebhookSecret = endpoint({
  tag: 'webhooks',
  method: 'post',
  path: '/api/webhooks/secret',
  act: 'webhook.secret-created',
  summary: 'Creates or replaces the signing secret of the account.',
  description:
    'Creates or replaces the signing secret of the account. For 24 hours, deliveries are also signed with the replaced secret.',
  answers: { 201: enveloped('The secret; it is shown only once', newSecret) },

  async handle({ database, clock, secretBox }: SecretDeps, { account, reply }) {
    const created = await rotateSecret(database, account.accountId, clock.now(), secretBox);
    return sendEnvelope(reply, 201, created);
  },
});

/** Tests of an address that does not respond stay pending for a day, so their number is limited. */
const MOST_PENDING_TESTS = 20;

interface DeliveryDeps {
  database: Database;
  clock: Clock;
  webhooks: WebhookSettings;
}

const testWebhook = endpoint({
  tag: 'webhooks',
  method: 'post',
  path: '/api/webhooks/test',
  act: 'webhook.tested',
  summary: 'Sends a test delivery to an address.',
  body: {
    description: 'The address to test',
    schema: exactObject({
      url: webhookUrl(true).meta({ description: 'Address that receives the test delivery', format: 'uri' }),
    }),
    example: { url: 'https://example.com/hook' },
  },
  answers: { 202: enveloped('The delivery', deliverySchema) },

  async handle({ database, clock, webhooks }: DeliveryDeps, { account, body, reply }) {
    const { accountId } = account;
    const { url } = body;
    const refusal = refusalOf(new URL(url), webhooks.allowPrivate);
    if (refusal) throw invalidParameters([{ parameter: 'url', problem: refusal }]);
    await requireSecret(database, accountId, 'url');
    if ((await countPendingTests(database, accountId)) >= MOST_PENDING_TESTS) {
      const problem = `cannot be tested now, because ${MOST_PENDING_TESTS} earlier tests are still pending; retry later`;
      throw invalidParameters([{ parameter: 'url', problem }]);
    }
    const data = { message: 'This is a test. Nothing has happened.' };
    const id = await enqueue(database, { accountId, url, type: TEST_TYPE, data }, clock.now());
    await deleteOldTests(database, accountId);
    const delivery = await findMessage(database, { channel: 'webhook', accountId }, id);
    if (!delivery) throw new SoukError('DELIVERY_NOT_FOUND');
    return sendEnvelope(reply, 202, deliveryView(delivery), { message: 'accepted' });
  },
});

const listDeliveries = endpoint({
  tag: 'webhooks',
  method: 'get',
  path: '/api/webhooks/deliveries',
  summary: 'Lists webhook deliveries, newest first.',
  query: z.object({
    state: oneOf(DELIVERY_STATES).optional().describe('Only deliveries in this state'),
    cursor: uuidParameter('the last delivery of the previous page').optional(),
    limit: integer({ min: 1, max: 100 }).default(20).describe('Deliveries per page'),
  }),
  answers: { 200: enveloped('A page of deliveries', pageOf('DeliveriesPage', 'deliveries', deliverySchema)) },

  async handle({ database }: { database: Database }, { account, query, reply }) {
    const { state = null, cursor: before = null, limit } = query;
    const of = { channel: 'webhook', ...account } as const;
    const found = await listMessages(database, of, { state, before, limit: limit + 1 });
    const { entries, nextCursor } = cutPage(found, limit, ({ id }) => id);
    return sendEnvelope(reply, 200, { deliveries: entries.map(deliveryView), nextCursor });
  },
});

const deliveryId = { of: 'the delivery', unknown: 'DELIVERY_NOT_FOUND' } as const;

const loggedDelivery = deliverySchema
  .extend({
    payload: z.string().describe('Body of the delivery, exactly as sent'),
    log: z.array(attemptSchema),
  })
  .register(SCHEMA_NAMES, { id: 'LoggedDelivery' });

const getDelivery = endpoint({
  tag: 'webhooks',
  method: 'get',
  path: '/api/webhooks/deliveries/{id}',
  summary: 'Returns a delivery with its body and its attempts.',
  id: deliveryId,
  answers: { 200: enveloped('The delivery', loggedDelivery) },

  async handle({ database }: { database: Database }, { account, id, reply }) {
    const delivery = await findMessage(database, { channel: 'webhook', ...account }, id);
    if (!delivery) throw new SoukError('DELIVERY_NOT_FOUND');
    const { payload, log } = delivery;
    return sendEnvelope(reply, 200, { ...deliveryView(delivery), payload, log });
  },
});

const replayDelivery = endpoint({
  tag: 'webhooks',
  method: 'post',
  path: '/api/webhooks/deliveries/{id}/replay',
  act: 'webhook.replayed',
  summary: 'Sends a delivery again, with the same body and the same id.',
  id: deliveryId,
  errors: ['LIMIT_REACHED'],
  answers: { 202: enveloped('The delivery', deliverySchema) },

  async handle({ database, clock, webhooks }: DeliveryDeps, { account, id, reply }) {
    const { accountId } = account;
    const ended = await findMessage(database, { channel: 'webhook', accountId }, id);
    if (ended && ended.state !== 'pending')
      await requireWebhookRoom(
        database,
        { accountId, url: ended.recipient },
        webhooks.limits ?? WEBHOOK_LIMITS,
      );
    const delivery = await replay(database, accountId, id, clock.now());
    if (!delivery) throw new SoukError('DELIVERY_NOT_FOUND');
    return sendEnvelope(reply, 202, deliveryView(delivery), { message: 'accepted' });
  },
});

/** The signing secret of an account, and the log of its deliveries. */
export const WEBHOOK_ENDPOINTS = [
  getWebhookSettings,
  rotateWebhookSecret,
  testWebhook,
  listDeliveries,
  getDelivery,
  replayDelivery,
];
