import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { integer, oneOf } from '../operations/params/scalars.ts';
import { invalidParameters, SoukError } from '../platform/errors.ts';
import { enqueue } from '../webhooks/deliveries.ts';
import {
  countPending,
  DELIVERY_STATES,
  findDelivery,
  listDeliveries,
  replayDelivery,
} from '../webhooks/delivery-log.ts';
import { findSecretState, requireSecret, rotateSecret } from '../webhooks/secrets.ts';
import { attemptView, DELIVERY_RULES, deliveryView, secretView } from '../webhooks/view.ts';
import { webhookUrl } from '../webhooks/webhook-url.ts';
import { sendEnvelope } from './envelope.ts';
import type { Gateway } from './gateway.ts';
import { isUuid, uuidParameter } from './ids.ts';
import { accountOf, parseAs } from './request-input.ts';

export const deliveryPageSchema = z.object({
  state: oneOf(DELIVERY_STATES).optional().describe('Only deliveries in this state'),
  cursor: uuidParameter('the last delivery of the page before').optional(),
  limit: integer({ min: 1, max: 100 }).default(20).describe('Deliveries a page'),
});

const TEST_TYPE = 'webhook.test';

/** An address that does not answer keeps its tests for a day; nobody needs more of them than this. */
const MOST_PENDING_TESTS = 20;

/** An account's webhooks: its signing secret, and the log of deliveries. Free; what another account has does not exist. */
export function registerWebhooks(app: FastifyInstance, gateway: Gateway): void {
  const { database, clock } = gateway;
  const testSchema = z.object({ url: webhookUrl(gateway.webhooks.allowPrivate) }, 'must be a JSON object');

  app.get('/api/webhooks', async (request, reply) => {
    const accountId = await accountOf(gateway, request);
    const secret = await findSecretState(database, accountId, clock.now());
    const data = { secret: secret && secretView(secret), delivery: DELIVERY_RULES };
    return sendEnvelope(reply, 200, data, { now: clock.now() });
  });

  app.post('/api/webhooks/secret', async (request, reply) => {
    const accountId = await accountOf(gateway, request);
    const { secret, ...state } = await rotateSecret(database, accountId, clock.now());
    reply.header('cache-control', 'no-store');
    return sendEnvelope(reply, 201, { secret, ...secretView(state) }, { now: clock.now() });
  });

  app.get('/api/webhooks/deliveries', async (request, reply) => {
    const accountId = await accountOf(gateway, request);
    const { state = null, cursor = null, limit } = parseAs(deliveryPageSchema, request.query);
    const found = await listDeliveries(database, accountId, { state, before: cursor, limit: limit + 1 });
    const page = found.slice(0, limit);
    const nextCursor = found.length > limit ? (page.at(-1)?.id ?? null) : null;
    const data = { deliveries: page.map(deliveryView), nextCursor };
    return sendEnvelope(reply, 200, data, { now: clock.now() });
  });

  app.get('/api/webhooks/deliveries/:id', async (request, reply) => {
    const accountId = await accountOf(gateway, request);
    const delivery = await findDelivery(database, accountId, idOf(request));
    if (!delivery) throw new SoukError('DELIVERY_NOT_FOUND');
    const { payload, log } = delivery;
    const data = { ...deliveryView(delivery), payload, log: log.map(attemptView) };
    return sendEnvelope(reply, 200, data, { now: clock.now() });
  });

  app.post('/api/webhooks/deliveries/:id/replay', async (request, reply) => {
    const accountId = await accountOf(gateway, request);
    const delivery = await replayDelivery(database, accountId, idOf(request), clock.now());
    if (!delivery) throw new SoukError('DELIVERY_NOT_FOUND');
    return sendEnvelope(reply, 202, deliveryView(delivery), { message: 'accepted', now: clock.now() });
  });

  app.post('/api/webhooks/test', async (request, reply) => {
    const accountId = await accountOf(gateway, request);
    const { url } = parseAs(testSchema, request.body);
    await requireSecret(database, accountId, 'url');
    if ((await countPending(database, accountId, TEST_TYPE)) >= MOST_PENDING_TESTS) {
      const problem = `cannot be tested while ${MOST_PENDING_TESTS} other tests are not delivered`;
      throw invalidParameters([{ parameter: 'url', problem }]);
    }
    const data = { message: 'This is a test. Nothing has happened.' };
    const id = await enqueue(database, { accountId, url, type: TEST_TYPE, data }, clock.now());
    const delivery = await findDelivery(database, accountId, id);
    if (!delivery) throw new SoukError('DELIVERY_NOT_FOUND');
    return sendEnvelope(reply, 202, deliveryView(delivery), { message: 'accepted', now: clock.now() });
  });
}

/** @throws SoukError DELIVERY_NOT_FOUND for what cannot be an id. */
function idOf(request: FastifyRequest): string {
  const { id } = request.params as { id: string };
  if (isUuid(id)) return id;
  throw new SoukError('DELIVERY_NOT_FOUND');
}
