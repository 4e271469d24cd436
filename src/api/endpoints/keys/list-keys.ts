import { z } from 'zod';
import { listKeys, MOST_ENDED_KEYS } from '../../../accounts/account-keys.ts';
import { unitsByKey } from '../../../billing/key-units.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import { sendEnvelope } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { type KeyDeps, keySchema, keyView } from './own-key.ts';

const answer = z.object({ keys: z.array(keySchema) }).register(SCHEMA_NAMES, { id: 'ApiKeys' });

export const listApiKeys = endpoint({
  tag: 'keys',
  method: 'get',
  path: '/api/keys',
  scopes: ['keys'],
  summary: 'Lists the API keys of the account, newest first.',
  description: `Lists the API keys of the account, newest first: all that work, and the last ${MOST_ENDED_KEYS} that do not. No key is shown.`,
  answers: { 200: enveloped('The keys', answer) },

  async handle({ database, clock }: KeyDeps, { account: { accountId }, reply }) {
    const [keys, used] = await Promise.all([
      listKeys(database, accountId, clock.now()),
      unitsByKey(database, accountId, clock.now()),
    ]);
    return sendEnvelope(reply, 200, {
      keys: keys.toReversed().map((key) => keyView(key, used.get(key.id))),
    });
  },
});
