import { timingSafeEqual } from 'node:crypto';
import { SoukError } from '../platform/errors.ts';
import { hashKey, isWellFormed } from './keys.ts';

/** The places of a request that may carry the API key. A header sent twice arrives joined by a comma, a parameter as a list. */
export interface KeyPlaces {
  apiKeyHeader: string | readonly string[] | undefined;
  authorizationHeader: string | undefined;
  keyParameter: unknown;
}

/**
 * The digest of the request's API key.
 * @throws SoukError KEY_INVALID when it is missing, malformed, or given in several places with different values.
 */
export function credentialsOf(places: KeyPlaces): Buffer {
  const given = keysIn(places);
  if (given.length === 0) {
    throw new SoukError('KEY_INVALID', {
      message:
        'The request has no API key. Send it in the X-API-Key header, as Authorization: Bearer, or in the key parameter.',
    });
  }
  const first = digestOf(given[0]);
  const others = given.slice(1).map(digestOf);
  if (others.some((other) => !timingSafeEqual(first, other))) {
    throw new SoukError('KEY_INVALID', {
      message: 'The request has several different API keys. Send one key.',
    });
  }
  return first;
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
