import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { SoukError } from '../../../platform/errors.ts';
import { findDelivery, replayDelivery as replay } from '../../../webhooks/delivery-log.ts';
import { deliverySchema, deliveryView } from '../../../webhooks/view.ts';
import { requireWebhookRoom, WEBHOOK_LIMITS, type WebhookLimits } from '../../../webhooks/webhook-limits.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { deliveryId } from './get-delivery.ts';

export interface ReplayDeps {
  database: Database;
  clock: Clock;
  /** Default: `WEBHOOK_LIMITS`. */
  limits?: WebhookLimits | undefined;
}

export const replayDelivery = endpoint({
  tag: 'webhooks',
  method: 'post',
  path: '/api/webhooks/deliveries/{id}/replay',
  summary: 'Sends a delivery again, with the same body and the same id.',
  id: deliveryId,
  errors: ['LIMIT_REACHED'],
  answers: { 202: enveloped('The delivery', deliverySchema) },

  async handle({ database, clock, limits = WEBHOOK_LIMITS }: ReplayDeps, { account, id, reply }) {
    const { accountId } = account;
    const ended = await findDelivery(database, accountId, id);
    if (ended && ended.state !== 'pending')
      await requireWebhookRoom(database, { accountId, url: ended.url }, limits);
    const delivery = await replay(database, accountId, id, clock.now());
    if (!delivery) throw new SoukError('DELIVERY_NOT_FOUND');
    return sendEnvelope(reply, 202, deliveryView(delivery), { message: 'accepted' });
  },
});
