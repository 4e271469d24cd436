import type { Queryable } from '../platform/db/pool.ts';
import { firstRow } from '../platform/db/rows.ts';
import { revokedKey } from './authentication.ts';
import { isInScope, type KeyScopes, requireScope, scopeNamed } from './key-settings.ts';

interface Standing {
  /** "API key km_abcd…", or "connection Notebook". */
  called: string;
  /** It was revoked or has expired. */
  isOver: boolean;
  /** It has scopes, networks, a cap, or a time of expiry that is not that of a reset. */
  isLimited: boolean;
  scopes: KeyScopes;
}

/** @returns null if the key is not known. */
async function standingOf(database: Queryable, keyId: number | null, now: number) {
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
