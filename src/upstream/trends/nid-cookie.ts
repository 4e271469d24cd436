import type { Redis } from 'ioredis';
import type { HttpResponse } from '../http-client.ts';
import type { Cookies } from './rate-limited-endpoint.ts';

/**
 * Of all cookies upstream sets, only this one counts. Its form varies, so it is kept as it comes, if only it can be sent
 * back: one that cannot would fail all calls until it is forgotten.
 */
const NID = /^NID=[\x21-\x3a\x3c-\x7e]{1,4096}(?=\s*(;|$))/;

/** It lives for months; an early end only costs a call. */
const LIFETIME_MS = 7 * 86_400_000;

/** The NID cookie, shared by all workers. Any answer may renew it. */
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
