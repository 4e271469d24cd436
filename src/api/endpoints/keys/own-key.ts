import { z } from 'zod';
import { type AccountKey, findKey } from '../../../accounts/account-keys.ts';
import { requireWithin } from '../../../accounts/key-rights.ts';
import type { KeySettings } from '../../../accounts/key-settings.ts';
import { SCOPES } from '../../../accounts/scopes.ts';
import { type KeyUnits, unitsByKey } from '../../../billing/key-units.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Queryable } from '../../../platform/db/pool.ts';
import { SoukError } from '../../../platform/errors.ts';
import type { Account } from '../../plugins/authentication.ts';

export interface KeyDeps {
  database: Database;
  clock: Clock;
}

export const keyId = { of: 'the key', unknown: 'KEY_NOT_FOUND', isNumber: true } as const;

const moment = z.iso.datetime();

/** A key as its account sees it. */
export const keyShape = {
  id: z.int(),
  prefix: z.string().describe('The start of the key'),
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
  lastUsedAt: moment.nullable().describe('Accurate to about a minute'),
  revokedAt: moment.nullable(),
};

export const keySchema = z.object(keyShape).register(SCHEMA_NAMES, { id: 'ApiKey' });

const NOTHING_USED: KeyUnits = { day: 0, month: 0 };

export function keyView(key: AccountKey, used: KeyUnits = NOTHING_USED): z.output<typeof keySchema> {
  const { id, prefix, name, state, scopes, capDay, capMonth, networks, createdBy } = key;
  const at = (time: Date | null) => time?.toISOString() ?? null;
  return {
    ...{ id, prefix, name, state, capDay, capMonth, createdBy },
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
export async function usedKeyView({ database, clock }: KeyDeps, accountId: number, key: AccountKey) {
  return keyView(key, (await unitsByKey(database, accountId, clock.now())).get(key.id));
}

/** Requires that the key of a request may give these settings to a key. @throws SoukError KEY_RIGHTS_EXCEEDED. */
export async function requireRights(
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
