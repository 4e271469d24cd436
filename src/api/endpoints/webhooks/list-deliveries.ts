import { z } from 'zod';
import { integer, oneOf } from '../../../operations/params/scalars.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { DELIVERY_STATES, listDeliveries as findDeliveries } from '../../../webhooks/delivery-log.ts';
import { deliverySchema, deliveryView } from '../../../webhooks/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { uuidParameter } from '../../ids.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { cutPage, pageOf } from '../page.ts';

export const listDeliveries = endpoint({
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
    const found = await findDeliveries(database, account.accountId, { state, before, limit: limit + 1 });
    const { entries, nextCursor } = cutPage(found, limit, ({ id }) => id);
    return sendEnvelope(reply, 200, { deliveries: entries.map(deliveryView), nextCursor });
  },
});
