import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { SoukError } from '../../platform/errors.ts';
import { recentlyUsed } from '../../platform/recently-used.ts';
import type { Redis } from '../../platform/redis.ts';
import type { RedisKeys } from '../../platform/redis-keys.ts';

/** Requests are counted in windows of this length, so an account may send those of a whole window at once. */
const WINDOW_SECONDS = 5;

/** Bounds memory. A refused account that is forgotten is counted in Redis again. */
const MAX_REFUSED_ACCOUNTS = 10_000;

/**
 * Limits the requests of an account that cost no units, over all gateways: quotes, lists, job status, and calls that were
 * refused or joined. Without Redis each gateway counts for itself.
 */
export interface FreeRequests {
  /** Counts a request, or several. @throws SoukError TOO_MANY_REQUESTS. */
  count(accountId: number, requests?: number): Promise<void>;
  /** Counts a request that turned out to be free when it was answered. */
  countLater(accountId: number): void;
  /** @throws SoukError TOO_MANY_REQUESTS if the account has reached the limit in the present window. */
  refuseExhausted(accountId: number): void;
}

/** @param perSecond null: no limit. */
export function createFreeRequests(redis: Redis, keys: RedisKeys, perSecond: number | null): FreeRequests {
  if (perSecond === null) return { count: async () => {}, countLater() {}, refuseExhausted() {} };
  const limits = { points: perSecond * WINDOW_SECONDS, duration: WINDOW_SECONDS };
  const limiter = new RateLimiterRedis({
    ...limits,
    storeClient: redis,
    keyPrefix: keys.freeRequests,
    insuranceLimiter: new RateLimiterMemory(limits),
  });
  /** The end of the window of each account that reached its limit, by performance.now(). */
  const refused = recentlyUsed<number, number>(MAX_REFUSED_ACCOUNTS);

  const refuseExhausted = (accountId: number) => {
    const waitMs = (refused.get(accountId) ?? 0) - performance.now();
    if (waitMs > 0) throw tooMany(perSecond, waitMs);
  };
  const count = async (accountId: number, requests = 1) => {
    refuseExhausted(accountId);
    try {
      await limiter.consume(accountId, requests);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      refused.set(accountId, performance.now() + refusal.msBeforeNext);
      throw tooMany(perSecond, refusal.msBeforeNext);
    }
  };
  return { count, refuseExhausted, countLater: (accountId) => void count(accountId).catch(() => {}) };
}

function tooMany(perSecond: number, waitMs: number): SoukError {
  const perWindow = perSecond * WINDOW_SECONDS;
  return new SoukError('TOO_MANY_REQUESTS', {
    message: `Requests that cost no units are limited to ${perWindow} in ${WINDOW_SECONDS} seconds per account.`,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    metadata: { limit: perWindow, seconds: WINDOW_SECONDS },
  });
}
