import { z } from 'zod';
import {
  type AccountKey,
  addKey,
  changeKey,
  findKey,
  listKeys,
  MOST_ENDED_KEYS,
  revokeKeys,
} from '../../accounts/account-keys.ts';
import {
  changedSettings,
  type KeySettings,
  keySettingsSchema,
  requireWithin,
  SCOPES,
  WITHOUT_LIMITS,
} from '../../accounts/key-settings.ts';
import { type KeyUnits, unitsByKey } from '../../billing/key-warning.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { SoukError } from '../../platform/errors.ts';
import { sendEnvelope } from '../envelope.ts';
import { enveloped } from '../openapi/responses.ts';
import type { Account } from '../plugins/authentication.ts';
import { endpoint } from './endpoint.ts';

interface KeyDeps {
  database: Database;
  clock: Clock;
}

const keyId = { of: 'the key', unknown: 'KEY_NOT_FOUND', isNumber: true } as const;

const moment = z.iso.datetime();

/** A key as its account sees it. */
const keyShape = {
  id: z.int(),
  prefix: z.string().describe('The start of the key; of a connection, that of a key which is never shown'),
  name: z.string().nullable(),
  state: z
    .enum(['active', 'rotated', 'expired', 'revoked'])
    .describe('rotated: a newer key has replaced it, and it works until expiresAt'),
  scopes: z
    .array(z.enum(SCOPES))
    .nullable()
    .describe('What the key may do; null: everything but managing keys'),
  capDay: z.int().nullable().describe('Units that the key may use in a day (UTC); null: no cap'),
  capMonth: z.int().nullable().describe('Units that the key may use in a month (UTC); null: no cap'),
  used: z
    .object({ day: z.int(), month: z.int() })
    .describe('Units that the key has reserved and been charged in this day and month (UTC)'),
  networks: z.array(z.string()).nullable().describe('Networks from which it may be used; null: any'),
  expiresAt: moment.nullable(),
  createdAt: moment,
  createdBy: z.int().nullable().describe('Id of the key that created it'),
  createdByPerson: z
    .object({ id: z.int(), email: z.string() })
    .nullable()
    .describe('The person who created it on the pages'),
  lastUsedAt: moment.nullable().describe('Accurate to about a minute'),
  revokedAt: moment.nullable(),
  connection: z
    .object({
      clientName: z.string().describe('As the program calls itself'),
      host: z
        .string()
        .nullable()
        .describe('The host to which the person returned after the sign-in; null: a device, which has none'),
    })
    .nullable()
    .describe(
      'The program that a person has connected, which uses the key by access tokens; null: an API key',
    ),
};

const keySchema = z.object(keyShape).register(SCHEMA_NAMES, { id: 'ApiKey' });

const NOTHING_USED: KeyUnits = { day: 0, month: 0 };

function keyView(key: AccountKey, used: KeyUnits = NOTHING_USED): z.output<typeof keySchema> {
  const { id, prefix, name, state, scopes, capDay, capMonth, networks, createdBy, createdByPerson } = key;
  const { connection } = key;
  const at = (time: Date | null) => time?.toISOString() ?? null;
  return {
    id,
    prefix,
    name,
    state,
    capDay,
    capMonth,
    createdBy,
    createdByPerson,
    connection,
    scopes: scopes && [...scopes],
    used,
    networks: networks && [...networks],
    expiresAt: at(key.expiresAt),
    createdAt: key.createdAt.toISOString(),
    lastUsedAt: at(key.lastUsedAt),
    revokedAt: at(key.revokedAt),
  };
}

/** Returns the view of a key with what it has used. */
async function usedKeyView({ database, clock }: KeyDeps, accountId: number, key: AccountKey) {
  return keyView(key, (await unitsByKey(database, accountId, clock.now())).get(key.id));
}

/** Requires that the key of a request may give these settings to a key. @throws SoukError KEY_RIGHTS_EXCEEDED. */
async function requireRights(
  database: Queryable,
  { accountId, keyId: id }: Account,
  settings: KeySettings,
  now: number,
): Promise<void> {
  if (id === null) throw new SoukError('KEY_FORBIDDEN');
  const own = await findKey(database, accountId, id, now);
  // The account is locked: the key has neither lost the scope nor stopped working since the request was let in.
  if (!own.scopes?.includes('keys') || own.state === 'revoked' || own.state === 'expired')
    throw new SoukError('KEY_FORBIDDEN');
  requireWithin(settings, own);
}

const newKeySchema = z
  .object({ ...keyShape, key: z.string().describe('The key. It is shown only once') })
  .register(SCHEMA_NAMES, { id: 'NewApiKey' });

const createApiKey = endpoint({
  tag: 'keys',
  method: 'post',
  path: '/api/keys',
  act: 'key.created',
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

const answer = z.object({ keys: z.array(keySchema) }).register(SCHEMA_NAMES, { id: 'ApiKeys' });

const listApiKeys = endpoint({
  tag: 'keys',
  method: 'get',
  path: '/api/keys',
  scopes: ['keys'],
  summary: 'Lists the API keys and connections of the account, newest first.',
  description: `Lists the API keys and connections of the account, newest first: all that work, and the last ${MOST_ENDED_KEYS} that do not. No key is shown.`,
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

const getApiKey = endpoint({
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

const updateApiKey = endpoint({
  tag: 'keys',
  method: 'patch',
  path: '/api/keys/{id}',
  act: 'key.changed',
  scopes: ['keys'],
  summary: 'Updates the given settings of an API key.',
  description:
    'Updates the given settings of an API key; null removes a limit. They apply from the next request on. A key can give only rights that it has itself, also to itself. A connection keeps scopes, caps and an end, which is at most 366 days after it was created, and never has the scope keys.',
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
    if (changed.connection) reply.request.act = 'connection.changed';
    return sendEnvelope(reply, 200, await usedKeyView(deps, accountId, changed));
  },
});

const revokeApiKey = endpoint({
  tag: 'keys',
  method: 'delete',
  path: '/api/keys/{id}',
  act: 'key.revoked',
  scopes: ['keys'],
  summary: 'Revokes an API key or a connection.',
  description:
    'Revokes an API key or a connection: every gateway refuses it from the next request on. Its batches run to their end; schedules and trackers that it has created are skipped if it had limits.',
  id: keyId,
  answers: { 200: enveloped('The key', keySchema) },

  async handle(deps: KeyDeps, { account: { accountId }, id, reply }) {
    const { database, clock } = deps;
    await revokeKeys(database, accountId, id, clock.now());
    const revoked = await findKey(database, accountId, Number(id), clock.now());
    if (revoked.connection) reply.request.act = 'connection.revoked';
    return sendEnvelope(reply, 200, await usedKeyView(deps, accountId, revoked));
  },
});

/** API keys of an account, for keys that may manage keys. */
export const KEY_ENDPOINTS = [listApiKeys, createApiKey, getApiKey, updateApiKey, revokeApiKey];
