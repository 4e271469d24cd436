import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisKeys } from '../redis-keys.ts';

/** Wrong passwords for one account from anywhere, and of one address for any, before both have to wait. */
const ATTEMPTS = { account: 10, address: 40 } as const;

const WINDOW_SECONDS = 15 * 60;

/** Slows down whoever tries passwords, over all gateways; while Redis is away each gateway counts for itself. */
export interface Attempts {
  /** Counts an attempt. @returns how many seconds to wait before the next, or null where it may go on. */
  count(attempt: { address: string; email: string }): Promise<number | null>;
  /** The right password was given: what was counted for the account is forgotten, and this attempt for the address. */
  forgive(attempt: { address: string; email: string }): Promise<void>;
}

export function createAttempts(redis: Redis, keys: RedisKeys): Attempts {
  const limiter = (kind: keyof typeof ATTEMPTS) => {
    const limits = { points: ATTEMPTS[kind], duration: WINDOW_SECONDS };
    return new RateLimiterRedis({
      ...limits,
      storeClient: redis,
      keyPrefix: keys.attempts(kind),
      insuranceLimiter: new RateLimiterMemory(limits),
    });
  };
  const byAccount = limiter('account');
  const byAddress = limiter('address');
  return {
    async count({ address, email }) {
      const waits = await Promise.all([secondsToWait(byAddress, address), secondsToWait(byAccount, email)]);
      const longest = Math.max(...waits);
      return longest > 0 ? longest : null;
    },
    async forgive({ address, email }) {
      await Promise.all([byAccount.delete(email), byAddress.reward(address)]);
    },
  };
}

async function secondsToWait(limiter: RateLimiterRedis, key: string): Promise<number> {
  try {
    await limiter.consume(key);
    return 0;
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
    throw refusal;
  }
}
