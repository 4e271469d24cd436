import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { SoukError } from '../../../platform/errors.ts';
import { replayDelivery as replay } from '../../../webhooks/delivery-log.ts';
import { deliverySchema, deliveryView } from '../../../webhooks/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { deliveryId } from './get-delivery.ts';

export const replayDelivery = endpoint({
  tag: 'webhooks',
  method: 'post',
  path: '/api/webhooks/deliveries/{id}/replay',
  summary: 'Sends a delivery again, with the same body and the same id.',
  id: deliveryId,
  answers: { 202: enveloped('The delivery', deliverySchema) },

  async handle({ database, clock }: { database: Database; clock: Clock }, { account, id, reply }) {
    const delivery = await replay(database, account.accountId, id, clock.now());
    if (!delivery) throw new SoukError('DELIVERY_NOT_FOUND');
    return sendEnvelope(reply, 202, deliveryView(delivery), { message: 'accepted' });
  },
});
