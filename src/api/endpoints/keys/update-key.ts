import { changeKey } from '../../../accounts/account-keys.ts';
import { changedSettings, keySettingsSchema } from '../../../accounts/key-settings.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { type KeyDeps, keyId, keySchema, requireRights, usedKeyView } from './own-key.ts';

export const updateApiKey = endpoint({
  tag: 'keys',
  method: 'patch',
  path: '/api/keys/{id}',
  scopes: ['keys'],
  summary: 'Updates the given settings of an API key.',
  description:
    'Updates the given settings of an API key; null removes a limit. They apply from the next request on. A key can give only rights that it has itself, also to itself.',
  id: keyId,
  body: { description: 'Settings to update', schema: keySettingsSchema, example: { capDay: 1_000 } },
  answers: { 200: enveloped('The key', keySchema) },
  errors: ['KEY_RIGHTS_EXCEEDED'],

  async handle(deps: KeyDeps, { account, id, body, reply }) {
    const { accountId } = account;
    const now = deps.clock.now();
    const changed = await changeKey(deps.database, accountId, Number(id), now, async (present, client) => {
      const settings = changedSettings(present, body, now);
      await requireRights(client, account, settings, now);
      return settings;
    });
    return sendEnvelope(reply, 200, await usedKeyView(deps, accountId, changed));
  },
});
