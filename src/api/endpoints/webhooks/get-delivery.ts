import { z } from 'zod';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { SoukError } from '../../../platform/errors.ts';
import { findDelivery } from '../../../webhooks/delivery-log.ts';
import { attemptSchema, attemptView, deliverySchema, deliveryView } from '../../../webhooks/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';

export const deliveryId = { of: 'the delivery', unknown: 'DELIVERY_NOT_FOUND' } as const;

const loggedDelivery = deliverySchema
  .extend({
    payload: z.string().describe('Body of the delivery, exactly as sent'),
    log: z.array(attemptSchema),
  })
  .register(SCHEMA_NAMES, { id: 'LoggedDelivery' });

export const getDelivery = endpoint({
  tag: 'webhooks',
  method: 'get',
  path: '/api/webhooks/deliveries/{id}',
  summary: 'Returns a delivery with its body and its attempts.',
  id: deliveryId,
  answers: { 200: enveloped('The delivery', loggedDelivery) },

  async handle({ database }: { database: Database }, { account, id, reply }) {
    const delivery = await findDelivery(database, account.accountId, id);
    if (!delivery) throw new SoukError('DELIVERY_NOT_FOUND');
    const { payload, log } = delivery;
    return sendEnvelope(reply, 200, { ...deliveryView(delivery), payload, log: log.map(attemptView) });
  },
});
