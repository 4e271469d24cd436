import { z } from 'zod';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/pool.ts';
import { findSecretState } from '../../../webhooks/secrets.ts';
import { DELIVERY_RULES, deliveryRulesSchema, secretSchema, secretView } from '../../../webhooks/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';

const settings = z
  .object({ secret: secretSchema.nullable(), delivery: deliveryRulesSchema })
  .register(SCHEMA_NAMES, { id: 'WebhookSettings' });

export const getWebhookSettings = endpoint({
  tag: 'webhooks',
  method: 'get',
  path: '/api/webhooks',
  summary: "Returns the state of the account's signing secret, and the rules for deliveries.",
  answers: { 200: enveloped('The webhook settings', settings) },

  async handle({ database, clock }: { database: Database; clock: Clock }, { account, reply }) {
    const secret = await findSecretState(database, account.accountId, clock.now());
    return sendEnvelope(reply, 200, { secret: secret && secretView(secret), delivery: DELIVERY_RULES });
  },
});
