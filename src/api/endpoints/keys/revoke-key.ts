import { findKey, revokeKeys } from '../../../accounts/account-keys.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { type KeyDeps, keyId, keySchema, usedKeyView } from './own-key.ts';

export const revokeApiKey = endpoint({
  tag: 'keys',
  method: 'delete',
  path: '/api/keys/{id}',
  scopes: ['keys'],
  summary: 'Revokes an API key.',
  description:
    'Revokes an API key: every gateway refuses it from the next request on. Its batches run to their end; schedules and trackers that it has created are skipped if it had limits.',
  id: keyId,
  answers: { 200: enveloped('The key', keySchema) },

  async handle(deps: KeyDeps, { account: { accountId }, id, reply }) {
    const { database, clock } = deps;
    await revokeKeys(database, accountId, id, clock.now());
    const revoked = await findKey(database, accountId, Number(id), clock.now());
    return sendEnvelope(reply, 200, await usedKeyView(deps, accountId, revoked));
  },
});
