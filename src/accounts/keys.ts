import { hash, randomInt } from 'node:crypto';
import type { Queryable } from '../platform/db/pool.ts';
import { type KeySettings, WITHOUT_LIMITS } from './key-settings.ts';
import { type Mode, modeOf } from './test-accounts.ts';

const PREFIXES: Record<Mode, string> = { live: 'km_', test: 'km_test_' };
const LENGTH = 32;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const FORM = /^(?:km_|km_test_)[A-Za-z0-9]{32}$/;

/** A new API key from a secure source: `km_` or `km_test_`, and 32 letters or digits. It is shown once and never stored. */
export function newKey(mode: Mode = 'live'): string {
  return PREFIXES[mode] + Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** Derives an API key from a digest of 64 bytes. */
export function keyFromDigest(digest: Buffer, mode: Mode = 'live'): string {
  // 2^16 is large enough compared to 62 that no character is noticeably more likely.
  return (
    PREFIXES[mode] +
    Array.from({ length: LENGTH }, (_, i) => ALPHABET[digest.readUInt16LE(2 * i) % 62]).join('')
  );
}

export function isWellFormed(key: string): boolean {
  return FORM.test(key);
}

/**
 * The digest of a key that is stored and looked up. A key has 190 random bits, so a fast digest is as safe as a slow one,
 * and the duration of a look-up by digest reveals nothing about the key. By way of a text, because Node.js allocates memory outside
 * its heap for a digest in a buffer, which takes three times as long as the digest.
 */
export function hashKey(key: string): Buffer {
  return Buffer.from(hash('sha256', key, 'binary'), 'binary');
}

/** The mode of a well-formed key. */
export function modeOfKey(key: string): Mode {
  return key.startsWith(PREFIXES.test) ? 'test' : 'live';
}

/** The start of a key, by which its owner recognises it in lists. */
export function keyPrefix(key: string): string {
  return key.slice(0, PREFIXES[modeOfKey(key)].length + 4);
}

/** Creates a key without limits for an account: a test key for a test account. @returns the key, which is not stored. */
export async function createKey(database: Queryable, accountId: number, now: number): Promise<string> {
  const { key } = await insertKey(database, accountId, { now });
  return key;
}

/** Creates a key for an account. @returns its id, and the key, which is not stored. */
export async function insertKey(
  database: Queryable,
  accountId: number,
  about: { settings?: KeySettings; createdBy?: number | null; now: number },
): Promise<{ key: string; id: number }> {
  const { settings = WITHOUT_LIMITS, createdBy = null, now } = about;
  const { name, scopes, capDay, capMonth, expiresAt, networks } = settings;
  const key = newKey(modeOf(accountId));
  const { rows } = await database.query<{ id: number }>(
    `insert into api_keys (hash, account_id, prefix, created_at, created_by, name, scopes, cap_day, cap_month, expires_at,
       networks)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning id`,
    [
      ...[hashKey(key), accountId, keyPrefix(key), new Date(now), createdBy, name, scopes, capDay, capMonth],
      ...[expiresAt, networks],
    ],
  );
  return { key, id: rows[0]?.id ?? 0 };
}
