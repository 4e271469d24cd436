import { z } from 'zod';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/pool.ts';
import type { SecretBox } from '../../../platform/secret-box.ts';
import { rotateSecret } from '../../../webhooks/secrets.ts';
import { secretSchema, secretView } from '../../../webhooks/view.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';

interface SecretDeps {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
}

const newSecret = secretSchema
  .extend({ secret: z.string().describe('The secret; it is shown only once') })
  .register(SCHEMA_NAMES, { id: 'NewWebhookSecret' });

export const rotateWebhookSecret = endpoint({
  tag: 'webhooks',
  method: 'post',
  path: '/api/webhooks/secret',
  summary: 'Creates or replaces the signing secret of the account.',
  description:
    'Creates or replaces the signing secret of the account. For 24 hours, deliveries are also signed with the replaced secret.',
  answers: { 201: enveloped('The secret; it is shown only once', newSecret) },

  async handle({ database, clock, secretBox }: SecretDeps, { account, reply }) {
    const { secret, ...state } = await rotateSecret(database, account.accountId, clock.now(), secretBox);
    return sendEnvelope(reply, 201, { secret, ...secretView(state) });
  },
});
