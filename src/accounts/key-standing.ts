import type { Queryable } from '../platform/db/pool.ts';
import { isInScope, type KeyScopes, requireScope, scopeNamed } from './scopes.ts';

interface Standing {
  prefix: string;
  /** A key with limits was revoked or has expired. What a key without limits has set up goes on, as after a reset. */
  isOver: boolean;
  scopes: KeyScopes;
}

/** @returns null if the key is not known. */
async function standingOf(database: Queryable, keyId: number | null, now: number): Promise<Standing | null> {
  if (keyId === null) return null;
  const { rows } = await database.query<Standing>(
    `select prefix, scopes,
       (revoked_at is not null or coalesce(expires_at <= $2, false))
         and (scopes is not null or networks is not null or cap_day is not null or cap_month is not null
           or (expires_at is not null and rotated_at is null)) as "isOver"
     from api_keys where id = $1`,
    [keyId, new Date(now)],
  );
  return rows[0] ?? null;
}

/** Requires that a key may make the calls of a batch. @throws SoukError KEY_SCOPE_MISSING. */
export async function requireOperationScope(
  database: Queryable,
  keyId: number | null,
  { toolset }: { toolset: string },
  now: number,
): Promise<void> {
  const key = await standingOf(database, keyId, now);
  if (key) requireScope(key.scopes, [scopeNamed(toolset)]);
}

/** Returns why a schedule that a key has created does not run; null if it does. */
export async function obstacleOfKey(
  database: Queryable,
  keyId: number | null,
  operation: { toolset: string } | undefined,
  now: number,
): Promise<string | null> {
  const key = await standingOf(database, keyId, now);
  if (key?.isOver) return `The API key ${key.prefix}… that created it was revoked or has expired.`;
  const scope = operation && scopeNamed(operation.toolset);
  if (!key || !scope || isInScope(key.scopes, [scope])) return null;
  return `The API key ${key.prefix}… that created it lacks the scope ${scope}.`;
}

/** Returns the key for which the runs of a changed schedule count: the present one, or the changing one if that is over. */
export async function keyOfChanged(
  database: Queryable,
  present: number | null,
  changing: number | null,
  now: number,
): Promise<number | null> {
  return (await standingOf(database, present, now))?.isOver ? changing : present;
}
