import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { RedisKeys } from '../platform/redis-keys.ts';
import { networkOf } from './wrong-keys.ts';

/** Attempts for one account, and from one address, before further attempts must wait. */
const ATTEMPTS = { account: 10, address: 40 } as const;

const WINDOW_SECONDS = 15 * 60;

/** `email` is null if the attempt is not for an account, such as a sign-up. */
export interface Attempt {
  address: string;
  email: string | null;
}

/** Limits attempts to guess passwords over all gateways. While Redis is unavailable each gateway counts for itself. */
export interface Attempts {
  /** Counts an attempt. @returns the seconds to wait before the next, or null if the attempt is allowed. */
  count(attempt: Attempt): Promise<number | null>;
  /** The password was correct: resets the count of the account, and takes this attempt off the count of the address. */
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
      // An address that has to wait does not use up the attempts of the account.
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
