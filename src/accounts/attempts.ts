import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisKeys } from '../platform/redis-keys.ts';
import { networkOf } from './wrong-keys.ts';

/** Wrong passwords for one account from anywhere, and of one address for any, before both have to wait. */
const ATTEMPTS = { account: 10, address: 40 } as const;

const WINDOW_SECONDS = 15 * 60;

/** Without an account, where there is none to guess the password of. */
export interface Attempt {
  address: string;
  email: string | null;
}

/** Slows down whoever tries passwords, over all gateways; while Redis is away each gateway counts for itself. */
export interface Attempts {
  /** Counts an attempt. @returns how many seconds to wait before the next, or null where it may go on. */
  count(attempt: Attempt): Promise<number | null>;
  /** The right password was given: what was counted for the account is forgotten, and this attempt for the address. */
  forgive(attempt: Attempt): Promise<void>;
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
      // Who has to wait may not use up the attempts of others at the account.
      const seconds =
        (await secondsToWait(byAddress, networkOf(address))) ||
        (email === null ? 0 : await secondsToWait(byAccount, email));
      return seconds > 0 ? seconds : null;
    },
    async forgive({ address, email }) {
      await byAddress.reward(networkOf(address));
      if (email !== null) await byAccount.delete(email);
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
