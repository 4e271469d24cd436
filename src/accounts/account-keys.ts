import type { ClientBase } from 'pg';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { firstRow } from '../platform/db/rows.ts';
import { inTransaction, type Transactable } from '../platform/db/transaction.ts';
import { invalidParameters, SoukError } from '../platform/errors.ts';
import { lockAccount } from './accounts.ts';
import { createKey, hashKey, insertKey, isWellFormed, revokedKey } from './authentication.ts';
import {
  connectionFaults,
  isInScope,
  type KeyScopes,
  type KeySettings,
  requireScope,
  scopeNamed,
} from './key-settings.ts';
import { keepClient } from './oauth-records.ts';

/** How long the previous keys of an account still work after a reset. */
export const ROTATION_MS = 30 * 60_000;

/** Keys of an account that work at the same time, keys that are created in a day, and keys in all: a key that has been used is never deleted. */
const MOST_KEYS = 100;
const MOST_NEW_KEYS = 200;
const MOST_KEPT_KEYS = 5_000;

/** Keys that no longer work are listed up to this number, the newest. */
export const MOST_ENDED_KEYS = 100;

const DAY_MS = 86_400_000;

/** Of a row of `api_keys`, at the time $2. */
const WORKS = '(revoked_at is null and coalesce(expires_at > $2, true))';

/** Of a row of `api_keys`. */
const NO_CONNECTION = 'not exists (select from connections c where c.key_id = api_keys.id)';

/** `rotated`: works until `expiresAt`, because a newer key has replaced it. */
type KeyState = 'active' | 'rotated' | 'expired' | 'revoked';

/** A key without its secret part. */
export interface AccountKey extends KeySettings {
  id: number;
  prefix: string;
  state: KeyState;
  createdAt: Date;
  /** The id of the key that created it; null: the pages or the operator. */
  createdBy: number | null;
  /** The person who created it on the pages; null: a key, the operator, or somebody who was erased. */
  createdByPerson: { id: number; email: string } | null;
  /** Accurate to about a minute; null: no use is known. */
  lastUsedAt: Date | null;
  /** When a newer key replaced it. */
  rotatedAt: Date | null;
  revokedAt: Date | null;
  /** The client that uses the key; null: it is no connection. `host`: where its person was sent back to; null: a device. */
  connection: { clientName: string; host: string | null } | null;
}

/** Returns the keys of an account that work, and the newest of those that do not; the oldest first. */
export async function listKeys(database: Queryable, accountId: number, now: number): Promise<AccountKey[]> {
  const { rows } = await database.query<Omit<AccountKey, 'state'>>(
    `select ${COLUMNS} from api_keys where account_id = $1 and purpose = 'customer' and (${WORKS} or id in (
       select id from api_keys where account_id = $1 and purpose = 'customer' and not ${WORKS}
       order by id desc limit ${MOST_ENDED_KEYS}))
     order by id`,
    [accountId, new Date(now)],
  );
  return rows.map((key) => ({ ...key, state: stateOf(key, now) }));
}

/** Returns a key of an account. @throws SoukError KEY_NOT_FOUND. */
export async function findKey(
  database: Queryable,
  accountId: number,
  keyId: number,
  now: number,
): Promise<AccountKey> {
  const key = await firstRow<Omit<AccountKey, 'state'>>(
    database,
    `select ${COLUMNS} from api_keys where account_id = $1 and id = $2 and purpose = 'customer'`,
    [accountId, keyId],
  );
  if (!key) throw new SoukError('KEY_NOT_FOUND');
  return { ...key, state: stateOf(key, now) };
}

/**
 * Creates a further key of an account.
 * @param check is called with the settings while the account is locked. @throws SoukError LIMIT_REACHED.
 */
export function addKey(
  database: Transactable,
  accountId: number,
  about: { settings: KeySettings; createdBy: number | null; personId?: number; now: number },
  check: (client: ClientBase) => Promise<void> = async () => {},
): Promise<{ key: string; id: number }> {
  const { now } = about;
  return inTransaction(database, async (client) => {
    await lockAccount(client, accountId);
    await check(client);
    const working = await requireNewKey(client, accountId, now);
    if (working >= MOST_KEYS)
      throw limitReached(
        `The account has ${working} keys that work, connections included; at most ${MOST_KEYS} are allowed. Revoke one first.`,
        { limit: MOST_KEYS, of: 'keys' },
      );
    return insertKey(client, accountId, about);
  });
}

/** Checks how many keys an account creates. @returns how many work. @throws SoukError LIMIT_REACHED. */
async function requireNewKey(client: ClientBase, accountId: number, now: number): Promise<number> {
  const { rows } = await client.query<{ working: number; fresh: number; kept: number }>(
    `select count(*) filter (where ${WORKS}) as working,
       count(*) filter (where created_at > $3) as fresh, count(*) as kept
     from api_keys where account_id = $1 and purpose = 'customer'`,
    [accountId, new Date(now), new Date(now - DAY_MS)],
  );
  const { working = 0, fresh = 0, kept = 0 } = rows[0] ?? {};
  if (fresh < MOST_NEW_KEYS && kept < MOST_KEPT_KEYS) return working;
  throw fresh < MOST_NEW_KEYS
    ? limitReached(
        `The account has ${kept} keys, those that no longer work included; at most ${MOST_KEPT_KEYS} are kept.`,
        { limit: MOST_KEPT_KEYS, of: 'keptKeys' },
      )
    : limitReached(
        `The account has created ${fresh} keys in 24 hours; at most ${MOST_NEW_KEYS} are allowed.`,
        { limit: MOST_NEW_KEYS, of: 'newKeys' },
      );
}

function limitReached(message: string, metadata: { limit: number; of: string }): SoukError {
  return new SoukError('LIMIT_REACHED', { message, metadata, retryAfterSeconds: 3_600 });
}

/**
 * Changes the settings of a key that works. Gateways apply them from the next request on.
 * @param change returns the new settings; it is called while the account is locked. @throws SoukError KEY_NOT_FOUND.
 */
export function changeKey(
  database: Transactable,
  accountId: number,
  keyId: number,
  now: number,
  change: (present: AccountKey, client: ClientBase) => Promise<KeySettings> | KeySettings,
): Promise<AccountKey> {
  return inTransaction(database, async (client) => {
    await lockAccount(client, accountId);
    const present = await findKey(client, accountId, keyId, now);
    if (present.state === 'revoked' || present.state === 'expired')
      throw new SoukError('KEY_NOT_FOUND', {
        message: `This key is ${present.state} and cannot be changed.`,
      });
    const settings = await change(present, client);
    const { name, scopes, capDay, capMonth, expiresAt, networks } = settings;
    const faults = present.connection ? connectionFaults(settings, present.createdAt) : [];
    if (faults.length > 0) throw invalidParameters(faults);
    if (
      present.rotatedAt &&
      (expiresAt === null || expiresAt.getTime() > (present.expiresAt?.getTime() ?? 0))
    )
      throw new SoukError('VALIDATION_FAILED', {
        message: `expiresAt: must not be later than ${present.expiresAt?.toISOString()}, because a newer key has replaced this one`,
      });
    await client.query(
      `update api_keys set name = $3, scopes = $4, cap_day = $5, cap_month = $6, expires_at = $7, networks = $8,
         version = version + (scopes is distinct from $4 or networks is distinct from $8)::integer
       where account_id = $1 and id = $2`,
      [accountId, keyId, name, scopes, capDay, capMonth, expiresAt, networks],
    );
    // Before it had a cap, nothing was counted.
    if (capDay !== null || capMonth !== null)
      await client.query('select souk_recount_key($1, $2, $3)', [accountId, keyId, new Date(now)]);
    if (present.connection) await keepClient(client, keyId);
    return findKey(client, accountId, keyId, now);
  });
}

/**
 * Creates a key that works immediately, and limits every other key of the account to another 30 minutes, so that its
 * programs can be updated without an interruption. Connections go on, because their keys are never shown.
 * @returns the new key, which is not stored, and when the last of the other keys expires. @throws SoukError LIMIT_REACHED.
 */
export async function resetKey(
  database: Transactable,
  accountId: number,
  now: number,
  personId: number | null = null,
): Promise<{ key: string; olderKeysUntil: Date }> {
  const olderKeysUntil = new Date(now + ROTATION_MS);
  const key = await inTransaction(database, async (client) => {
    // Of two concurrent resets the second must see the first one's key, or both new keys would stay valid for ever.
    await lockAccount(client, accountId);
    await requireNewKey(client, accountId, now);
    await client.query(
      `update api_keys set expires_at = least(coalesce(expires_at, $2), $2), rotated_at = coalesce(rotated_at, $3)
       where account_id = $1 and revoked_at is null and purpose = 'customer' and ${NO_CONNECTION}`,
      [accountId, olderKeysUntil, new Date(now)],
    );
    return insertKey(client, accountId, { personId, now });
  });
  return { key: key.key, olderKeysUntil };
}

/**
 * Revokes keys of an account immediately. A key that is already revoked keeps its time of revocation.
 * @param which 'all', or a key's id, its prefix, or the key itself. @returns the keys that were found.
 */
export async function revokeKeys(
  database: Queryable,
  accountId: number,
  which: string,
  now: number,
): Promise<AccountKey[]> {
  const { rows } = await database.query<Omit<AccountKey, 'state'>>(
    `update api_keys set revoked_at = coalesce(revoked_at, $3)
     where account_id = $1 and purpose = 'customer'
       and ($2 = 'all' or id::text = $2 or prefix = $2 or hash = $4)
     returning ${COLUMNS}`,
    [accountId, which, new Date(now), isWellFormed(which) ? hashKey(which) : null],
  );
  return rows.map((key) => ({ ...key, state: stateOf(key, now) })).sort((a, b) => a.id - b.id);
}

/** Revokes the keys of an account and its test account that a person has created, and those that were created with these keys. */
export async function revokeKeysOf(
  database: Queryable,
  liveAccountId: number,
  personId: number,
  now: number,
): Promise<void> {
  await database.query(
    `with recursive all_keys as (
       select k.id, k.person_id, k.created_by from api_keys k join accounts a on a.id = k.account_id
       where k.purpose = 'customer' and (a.id = $1 or a.live_account_id = $1)
     ),
     theirs as (
       select id from all_keys where person_id = $2
       union
       select k.id from all_keys k join theirs t on k.created_by = t.id
     )
     update api_keys set revoked_at = coalesce(revoked_at, $3) where id in (select id from theirs)`,
    [liveAccountId, personId, new Date(now)],
  );
}

/** The state of a key, by the same rule as in admission: a key stops working at the instant it expires. */
function stateOf({ expiresAt, revokedAt, rotatedAt }: Omit<AccountKey, 'state'>, now: number): KeyState {
  if (revokedAt) return 'revoked';
  if (expiresAt && expiresAt.getTime() <= now) return 'expired';
  return rotatedAt ? 'rotated' : 'active';
}

const COLUMNS = `id, prefix, name, scopes, cap_day as "capDay", cap_month as "capMonth", networks,
  created_at as "createdAt", created_by as "createdBy",
  (select json_build_object('id', p.id, 'email', p.email) from people p where p.id = person_id) as "createdByPerson",
  last_used_at as "lastUsedAt", expires_at as "expiresAt",
  rotated_at as "rotatedAt", revoked_at as "revokedAt",
  (select json_build_object('clientName', c.client_name, 'host', c.redirect_host)
   from connections c where c.key_id = api_keys.id) as connection`;

/** Whether an account has a grant and has never had a key other than those of connections. */
export async function isKeyDue(database: Database, accountId: number): Promise<boolean> {
  const { rows } = await database.query<{ due: boolean }>(`select ${IS_DUE} as due`, [accountId]);
  return rows[0]?.due ?? false;
}

/**
 * Creates the key that comes with the first purchase.
 * @returns the key, which is not stored; null if the account already had a key or has no grant.
 */
export function createFirstKey(
  database: Transactable,
  accountId: number,
  now: number,
  personId: number | null = null,
): Promise<string | null> {
  return inTransaction(database, async (client) => {
    // Of two concurrent requests only one receives the key.
    await lockAccount(client, accountId);
    const { rows } = await client.query<{ due: boolean }>(`select ${IS_DUE} as due`, [accountId]);
    return rows[0]?.due ? createKey(client, accountId, now, personId) : null;
  });
}

const IS_DUE = `not exists (select 1 from api_keys where account_id = $1 and purpose = 'customer' and ${NO_CONNECTION}) and
  (exists (select 1 from subscriptions where account_id = $1) or exists (select 1 from packs where account_id = $1))`;

interface Standing {
  /** "API key km_abcd…", or "connection Notebook". */
  called: string;
  /** It was revoked or has expired. */
  isOver: boolean;
  /** It has scopes, networks, a cap, or a time of expiry that is not that of a reset. */
  isLimited: boolean;
  scopes: KeyScopes;
}

/** Returns what a key may still do. @returns null if the key is not known. */
export async function standingOf(database: Queryable, keyId: number | null, now: number) {
  if (keyId === null) return null;
  return firstRow<Standing>(
    database,
    `select coalesce((select 'connection ' || client_name from connections where key_id = id), 'API key ' || prefix || '…') as called,
       scopes, revoked_at is not null or coalesce(expires_at <= $2, false) as "isOver",
       scopes is not null or networks is not null or cap_day is not null or cap_month is not null
         or (expires_at is not null and rotated_at is null) as "isLimited"
     from api_keys where id = $1`,
    [keyId, new Date(now)],
  );
}

/**
 * Requires that the key of a request still works, and may make the calls of an operation. A worker acts for a
 * request some time after the gateway has checked its key.
 * @param operation undefined: one that no longer exists, and so has no calls.
 * @throws SoukError KEY_FORBIDDEN or KEY_SCOPE_MISSING.
 */
export async function requireKeyFor(
  database: Queryable,
  keyId: number | null,
  operation: { toolset: string } | undefined,
  now: number,
): Promise<void> {
  const key = await standingOf(database, keyId, now);
  if (key?.isOver) throw revokedKey();
  if (key && operation) requireScope(key.scopes, [scopeNamed(operation.toolset)]);
}

/**
 * Returns why a schedule that belongs to a key does not run; null if it does. Schedules of a key without limits go on after its end,
 * because a reset replaces such keys.
 */
export async function obstacleOfKey(
  database: Queryable,
  keyId: number | null,
  operation: { toolset: string } | undefined,
  now: number,
): Promise<string | null> {
  const key = await standingOf(database, keyId, now);
  if (!key) return null;
  const named = `The ${key.called} to which it belongs`;
  if (key.isOver && key.isLimited) return `${named} was revoked or has expired.`;
  const scope = operation && scopeNamed(operation.toolset);
  return !scope || isInScope(key.scopes, [scope]) ? null : `${named} lacks the scope ${scope}.`;
}

/** Returns whether a key has limits. */
export async function isLimited(database: Queryable, keyId: number | null, now: number): Promise<boolean> {
  return (await standingOf(database, keyId, now))?.isLimited ?? false;
}
