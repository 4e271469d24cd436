import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { MicroBatcher } from '../platform/db/micro-batcher.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { allRows, hasRow } from '../platform/db/rows.ts';
import { SoukError } from '../platform/errors.ts';
import { recentlyUsed } from '../platform/recently-used.ts';
import type { CallEvents } from '../platform/telemetry/call-events.ts';
import {
  isInScope,
  type KeyScopes,
  type KeySettings,
  type Scope,
  scopeMissing,
  WITHOUT_LIMITS,
} from './key-settings.ts';
import { isInNetworks, type Network, networksOf } from './networks.ts';
import { findTokenKey, type TokenKey } from './oauth-records.ts';

/** The places of a request that may carry the API key. A header sent twice arrives joined by a comma, a parameter as a list. */
export interface KeyPlaces {
  apiKeyHeader: string | readonly string[] | undefined;
  authorizationHeader: string | undefined;
  keyParameter: unknown;
}

/** What a request has sent: an API key, or an access token of a connection. */
export interface Credentials {
  hash: Buffer;
  isToken: boolean;
}

/**
 * The digest of the request's API key or access token.
 * @throws SoukError KEY_INVALID when it is missing, malformed, or given in several places with different values.
 */
export function credentialsOf(places: KeyPlaces): Credentials {
  const given = keysIn(places);
  if (given.length === 0) {
    throw new SoukError('KEY_INVALID', {
      message:
        'The request has no API key. Send it in the X-API-Key header, as Authorization: Bearer, or in the key parameter.',
    });
  }
  // A token is accepted in its header only: addresses are stored in many places.
  const isInHeader = places.apiKeyHeader === undefined && places.keyParameter === undefined;
  const isToken = given.length === 1 && isInHeader && isAccessToken(given[0]);
  if (isToken) return { hash: hashKey(String(given[0]).trim()), isToken };
  const first = digestOf(given[0]);
  const others = given.slice(1).map(digestOf);
  if (others.some((other) => !timingSafeEqual(first, other))) {
    throw new SoukError('KEY_INVALID', {
      message: 'The request has several different API keys. Send one key.',
    });
  }
  return { hash: first, isToken };
}

/** The form of an access token: 43 letters, digits, hyphens or underscores. */
function isAccessToken(given: unknown): boolean {
  return typeof given === 'string' && /^[\w-]{43}$/.test(given.trim());
}

function digestOf(given: unknown): Buffer {
  const key = typeof given === 'string' ? given.trim() : '';
  if (isWellFormed(key)) return hashKey(key);
  throw new SoukError('KEY_INVALID', {
    message: 'The API key is malformed. A key is km_ or km_test_ followed by 32 letters or digits.',
  });
}

/** All values that were sent as keys, valid or not. */
export function keysIn(places: KeyPlaces): unknown[] {
  const { apiKeyHeader, authorizationHeader, keyParameter } = places;
  // Most requests have one key, in its header.
  const isOne = typeof apiKeyHeader === 'string' && !apiKeyHeader.includes(',');
  if (isOne && authorizationHeader === undefined && keyParameter === undefined) return [apiKeyHeader];
  return [
    ...[apiKeyHeader ?? []].flat().flatMap((value) => value.split(',')),
    ...(authorizationHeader?.split(',').flatMap(bearerToken) ?? []),
    ...[keyParameter ?? []].flat(),
  ];
}

/** The token of an Authorization header. Other schemes are ignored. */
function bearerToken(header: string): string[] {
  const match = /^bearer(?:\s+(.*))?$/is.exec(header.trim());
  return match ? [match[1] ?? ''] : [];
}

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

/** Creates a key without limits for an account: a test key for a test account. @param personId who creates it on the pages. @returns the key, which is not stored. */
export async function createKey(
  database: Queryable,
  accountId: number,
  now: number,
  personId: number | null = null,
): Promise<string> {
  const { key } = await insertKey(database, accountId, { personId, now });
  return key;
}

/** Creates a key for an account. @returns its id, and the key, which is not stored. */
export async function insertKey(
  database: Queryable,
  accountId: number,
  about: { settings?: KeySettings; createdBy?: number | null; personId?: number | null; now: number },
): Promise<{ key: string; id: number }> {
  const { settings = WITHOUT_LIMITS, createdBy = null, personId = null, now } = about;
  const { name, scopes, capDay, capMonth, expiresAt, networks } = settings;
  const key = newKey(modeOf(accountId));
  const { rows } = await database.query<{ id: number }>(
    `insert into api_keys (hash, account_id, prefix, created_at, created_by, name, scopes, cap_day, cap_month, expires_at,
       networks, person_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning id`,
    [
      hashKey(key),
      accountId,
      keyPrefix(key),
      new Date(now),
      createdBy,
      name,
      scopes,
      capDay,
      capMonth,
      expiresAt,
      networks,
      personId,
    ],
  );
  return { key, id: rows[0]?.id ?? 0 };
}

/** Live calls get data of the providers and are paid for; test calls get data of the demo provider and are free. */
export type Mode = 'live' | 'test';

/**
 * The id of a test account is this number plus the id of its live account. The mode is part of the id, so that each part of the
 * service that knows the account of a call knows its mode too, without a look-up. A constraint of the table ensures it.
 */
export const FIRST_TEST_ACCOUNT = 1_000_000_000_000;

export function isTestAccount(accountId: number): boolean {
  return accountId >= FIRST_TEST_ACCOUNT;
}

export function modeOf(accountId: number): Mode {
  return isTestAccount(accountId) ? 'test' : 'live';
}

/** Returns the id that the test account of a live account has, whether it exists or not. */
export function testAccountOf(liveAccountId: number): number {
  return FIRST_TEST_ACCOUNT + liveAccountId;
}

/** Returns the live account of a test account; a live account is its own. */
export function liveAccountOf(accountId: number): number {
  return isTestAccount(accountId) ? accountId - FIRST_TEST_ACCOUNT : accountId;
}

/** Returns whether an account has a test account. */
export function hasTestAccount(database: Queryable, liveAccountId: number) {
  return hasRow(database, 'select from accounts where id = $1', [testAccountOf(liveAccountId)]);
}

/**
 * Creates the test account of a live account, unless it exists. It has no members: those of the live account use it.
 */
export async function ensureTestAccount(
  database: Queryable,
  liveAccountId: number,
  now: number,
): Promise<number> {
  const id = testAccountOf(liveAccountId);
  await database.query(
    `insert into accounts (id, live_account_id, name, state, created_at)
     overriding system value
     select $1, l.id, l.name, l.state, $3 from accounts l where l.id = $2
     on conflict (id) do nothing`,
    [id, liveAccountId, new Date(now)],
  );
  return id;
}

/** Limits memory use. A key that is evicted is looked up again. */
const MAX_KNOWN_KEYS = 50_000;

/** A key that was valid when it was looked up. */
export interface KnownKey {
  accountId: number;
  /** null: a key of the pages. */
  keyId: number | null;
  /** Changes with the limits of the key. Admission refuses a call whose caller has checked the limits of another version. */
  version: number;
  scopes: KeyScopes;
  /** null: any address. */
  networks: readonly Network[] | null;
}

interface KeyRow extends Omit<KnownKey, 'accountId' | 'networks'> {
  idx: number;
  accountId: number | null;
  networks: readonly string[] | null;
  revoked: boolean;
  active: boolean;
}

/**
 * Finds keys, and the keys of access tokens.
 * @param tokens `audience` returns the address for which access tokens are issued; null: there are none. `hasTestMode`: whether
 * connections of test accounts work; test keys are refused before.
 */
export function createAuthentication(
  database: Database,
  now: () => number,
  events: CallEvents,
  { audience, hasTestMode }: { audience: () => string | null; hasTestMode: boolean },
) {
  const batcher = new MicroBatcher<Buffer, KeyRow>(async (hashes) => {
    return allRows<KeyRow>(database, {
      name: 'authenticate',
      text: `select q.idx::integer, k.account_id as "accountId", a.state = 'active' as active,
          k.revoked_at is not null or coalesce(k.expires_at <= $2, false) as revoked,
          case when k.purpose = 'customer' then k.id end as "keyId", k.version, k.scopes, k.networks
        from unnest($1::bytea[]) with ordinality as q (hash, idx)
        left join api_keys k on k.hash = q.hash
        left join accounts a on a.id = k.account_id
        order by q.idx`,
      values: [hashes, new Date(now())],
    });
  });
  const known = recentlyUsed<string, KnownKey>(MAX_KNOWN_KEYS);
  const tokens = recentlyUsed<string, TokenKey>(MAX_KNOWN_KEYS);
  return {
    /** Returns the digest of the key of a token that this process has seen to be valid, until it expires; null: it has not. */
    knownKeyOfToken(tokenHash: Buffer): Buffer | null {
      const token = tokens.get(tokenHash.toString('latin1'));
      return token && token.expiresAt > now() ? token.keyHash : null;
    },
    /** Returns the digest of the key of an access token. @throws SoukError KEY_INVALID. */
    async keyOfToken(tokenHash: Buffer): Promise<Buffer> {
      const issuer = audience();
      const token = issuer && (await findTokenKey(database, tokenHash, { audience: issuer, now: now() }));
      if (!token || (!hasTestMode && isTestAccount(token.accountId))) throw unknownToken();
      tokens.set(tokenHash.toString('latin1'), token);
      return token.keyHash;
    },
    /**
     * Returns a key that this process has seen to be valid. The key may have been revoked or changed since, so this only
     * permits reading the request; the admission of the call decides.
     */
    known: (keyHash: Buffer) => known.get(keyHash.toString('latin1')) ?? null,
    /** Forgets a key that turned out to be invalid. */
    forget: (keyHash: Buffer) => void known.delete(keyHash.toString('latin1')),
    /** Looks a key up in the database. @throws SoukError KEY_INVALID or KEY_FORBIDDEN. */
    async find(keyHash: Buffer): Promise<KnownKey> {
      const { accountId, keyId, version, scopes, networks, revoked, active } = await batcher.submit(keyHash);
      if (accountId === null) throw unknownKey();
      if (revoked) throw revokedKey();
      if (!active) throw unavailableAccount();
      const key = { accountId, keyId, version, scopes, networks: networks && networksOf(networks) };
      known.set(keyHash.toString('latin1'), key);
      events.emit({ type: 'key.accepted', keyHash });
      return key;
    },
  };
}

export type Authentication = ReturnType<typeof createAuthentication>;

/**
 * Returns why a key must not be used for a request; null if it may.
 * @param request its address is read only for a key with networks, because finding it out takes time.
 * @param anyOf the scopes of the route, of which the key needs one.
 */
export function refusalOf(
  { scopes, networks }: Pick<KnownKey, 'scopes' | 'networks'>,
  request: { readonly ip: string },
  anyOf: readonly Scope[],
): SoukError | null {
  if (networks && !isInNetworks(request.ip, networks))
    return new SoukError('KEY_ADDRESS_REFUSED', {
      message: `This API key must not be used from the address ${request.ip}.`,
      metadata: { address: request.ip },
    });
  return isInScope(scopes, anyOf) ? null : scopeMissing(anyOf);
}

/** The limits of a key have changed since they were checked. Nothing was admitted. */
export class KeyChanged extends SoukError {
  constructor() {
    super('BUSY', { message: 'The limits of this API key have just changed; retry.', retryAfterSeconds: 1 });
  }
}

export const unknownToken = () =>
  new SoukError('KEY_INVALID', {
    message:
      'This access token is invalid, has expired, or belongs to a connection that has ended. Sign in again.',
  });
export const unknownKey = () => new SoukError('KEY_INVALID', { message: 'This API key does not exist.' });
export const revokedKey = () =>
  new SoukError('KEY_FORBIDDEN', { message: 'This API key has been revoked or has expired.' });
export const unavailableAccount = () =>
  new SoukError('KEY_FORBIDDEN', { message: 'The account of this API key is disabled or unavailable.' });
