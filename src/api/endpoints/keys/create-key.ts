import { z } from 'zod';
import { addKey, findKey } from '../../../accounts/account-keys.ts';
import { changedSettings, keySettingsSchema, WITHOUT_LIMITS } from '../../../accounts/key-settings.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { type KeyDeps, keyShape, keyView, requireRights } from './own-key.ts';

const newKeySchema = z
  .object({ ...keyShape, key: z.string().describe('The key. It is shown only once') })
  .register(SCHEMA_NAMES, { id: 'NewApiKey' });

export const createApiKey = endpoint({
  tag: 'keys',
  method: 'post',
  path: '/api/keys',
  scopes: ['keys'],
  summary: 'Creates an API key, and returns it this once.',
  description:
    'Creates an API key, and returns it this once. A key can give only rights that it has itself: its scopes, its networks, and its time of expiry at the latest.',
  body: {
    description: 'Its name, and what it may do',
    schema: keySettingsSchema,
    example: { name: 'Dashboard', scopes: ['read', 'products'], capDay: 500 },
  },
  answers: { 201: enveloped('The key', newKeySchema, 'Location') },
  errors: ['KEY_RIGHTS_EXCEEDED', 'LIMIT_REACHED'],

  async handle({ database, clock }: KeyDeps, { account, body, reply }) {
    const now = clock.now();
    const { accountId } = account;
    const settings = changedSettings(WITHOUT_LIMITS, body, now);
    const { key, id } = await addKey(
      database,
      accountId,
      { settings, createdBy: account.keyId, now },
      (client) => requireRights(client, account, settings, now),
    );
    reply.header('location', `/api/keys/${id}`);
    const view = keyView(await findKey(database, accountId, id, now));
    return sendEnvelope(reply, 201, { ...view, key }, { message: 'created' });
  },
});
