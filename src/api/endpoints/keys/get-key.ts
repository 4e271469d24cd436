import { findKey } from '../../../accounts/account-keys.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { type KeyDeps, keyId, keySchema, usedKeyView } from './own-key.ts';

export const getApiKey = endpoint({
  tag: 'keys',
  method: 'get',
  path: '/api/keys/{id}',
  scopes: ['keys'],
  summary: 'Returns an API key of the account, without the key itself.',
  id: keyId,
  answers: { 200: enveloped('The key', keySchema) },

  async handle(deps: KeyDeps, { account: { accountId }, id, reply }) {
    const key = await findKey(deps.database, accountId, Number(id), deps.clock.now());
    return sendEnvelope(reply, 200, await usedKeyView(deps, accountId, key));
  },
});
