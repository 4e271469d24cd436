import { z } from 'zod';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { invalidParameters, SoukError } from '../../../platform/errors.ts';
import { refusalOf } from '../../../webhooks/address-guard.ts';
import { enqueue } from '../../../webhooks/deliveries.ts';
import {
  countPendingTests,
  deleteOldTests,
  findDelivery,
  TEST_TYPE,
} from '../../../webhooks/delivery-log.ts';
import { requireSecret } from '../../../webhooks/secrets.ts';
import { deliverySchema, deliveryView } from '../../../webhooks/view.ts';
import { webhookUrl } from '../../../webhooks/webhook-url.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';

/** Tests of an address that does not respond stay pending for a day, so their number is limited. */
const MOST_PENDING_TESTS = 20;

export interface TestDeps {
  database: Database;
  clock: Clock;
  /** The setting WEBHOOK_ALLOW_PRIVATE. */
  allowPrivate: boolean;
}

export const testWebhook = endpoint({
  tag: 'webhooks',
  method: 'post',
  path: '/api/webhooks/test',
  summary: 'Sends a test delivery to an address.',
  body: {
    description: 'The address to test',
    schema: z.object(
      {
        url: webhookUrl(true).meta({ description: 'Address that receives the test delivery', format: 'uri' }),
      },
      'must be a JSON object',
    ),
    example: { url: 'https://example.com/hook' },
  },
  answers: { 202: enveloped('The delivery', deliverySchema) },

  async handle({ database, clock, allowPrivate }: TestDeps, { account, body, reply }) {
    const { accountId } = account;
    const { url } = body;
    const refusal = refusalOf(new URL(url), allowPrivate);
    if (refusal) throw invalidParameters([{ parameter: 'url', problem: refusal }]);
    await requireSecret(database, accountId, 'url');
    if ((await countPendingTests(database, accountId)) >= MOST_PENDING_TESTS) {
      const problem = `cannot be tested now, because ${MOST_PENDING_TESTS} earlier tests are still pending; retry later`;
      throw invalidParameters([{ parameter: 'url', problem }]);
    }
    const data = { message: 'This is a test. Nothing has happened.' };
    const id = await enqueue(database, { accountId, url, type: TEST_TYPE, data }, clock.now());
    await deleteOldTests(database, accountId);
    const delivery = await findDelivery(database, accountId, id);
    if (!delivery) throw new SoukError('DELIVERY_NOT_FOUND');
    return sendEnvelope(reply, 202, deliveryView(delivery), { message: 'accepted' });
  },
});
