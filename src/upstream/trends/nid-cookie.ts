import type { Redis } from '../../platform/redis.ts';
import type { HttpResponse } from '../http-client.ts';
import type { Cookies } from './rate-limited-endpoint.ts';

/**
 * Upstream requires only this cookie. Its form varies, so it is stored unchanged if it is a valid header value; an
 * invalid one would fail all calls until it expires.
 */
const NID = /^NID=[\x21-\x3a\x3c-\x7e]{1,4096}(?=\s*(;|$))/;

/** Upstream's cookie is valid for months; fetching a new one early costs one call. */
const LIFETIME_MS = 7 * 86_400_000;

/** Stores the NID cookie for all workers. Any answer may renew it. */
export function createNidCookie(redis: Redis, key: string): Cookies {
  return {
    current: () => redis.get(key),

    async learn({ setCookies }: HttpResponse) {
      const [cookie] = setCookies.flatMap((text) => NID.exec(text)?.[0] ?? []);
      if (cookie === undefined) return false;
      const previous = await redis.set(key, cookie, 'PX', LIFETIME_MS, 'GET');
      return cookie !== previous;
    },
  };
}
