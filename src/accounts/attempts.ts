import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import { neighbourhoodOf, networkOf } from './networks.ts';

const QUARTER_SECONDS = 15 * 60;

const HOUR_SECONDS = 3_600;

/** Attempts in 15 minutes: for one account from one network or known device, and for any account from one network. */
const PASSWORDS = { account: 10, network: 40 } as const;

/** Successful attempts for one account in 15 minutes, from all places together. */
const SUCCESSES = 20;

/** Incorrect operator tokens in 15 minutes from one network. */
const TOKENS = 10;

/** Mails in an hour: that one account requests; and with password links, requested by one network and for one address. */
const MAILS = { account: 5, network: 10, address: 5 } as const;

/** Requests in 15 minutes of one account that ask the payment provider. */
const PAYMENTS = 30;

/** Codes of coupons in 15 minutes, of one account and from one network. Those that exist do not count. */
const COUPONS = { account: 10, network: 40 } as const;

/** Sign-ups from one network; default of the setting SIGN_UPS_PER_HOUR. */
export const SIGN_UPS_PER_HOUR = 5;

/** Requests of programs in an hour, from one network, that wait for a person to decide. */
const AUTHORIZATIONS = 300;

/** Clients from one network that register, or whose metadata is fetched; default of the setting CLIENT_REGISTRATIONS_PER_HOUR. */
export const CLIENT_REGISTRATIONS_PER_HOUR = 20;

/** An attempt to sign in with a password. */
interface Attempt {
  address: string;
  email: string;
  /** The browser has signed in to this account before; its attempts are counted apart from those of other browsers. */
  isKnownDevice: boolean;
}

/**
 * Limits attempts to guess passwords, operator tokens and codes of coupons, sign-ups, requested mails and requests about payments, over all gateways. While Redis is unavailable each
 * gateway counts for itself. Attempts are counted by network, so that strangers cannot lock an owner out in other networks.
 */
export interface Attempts {
  /** Counts an attempt. @returns the seconds to wait before the next, or null if the attempt is allowed. */
  count(attempt: Attempt): Promise<number | null>;
  /** Records a correct password: resets the count of the account from this place, and does not count the attempt for the network. Counts the success. */
  forgive(attempt: Attempt): Promise<void>;
  /** Counts a sign-in by OpenID Connect for the network. @returns the same. */
  countSingleSignOn(address: string): Promise<number | null>;
  /** Does not count a sign-in that succeeded. */
  forgiveSingleSignOn(address: string): Promise<void>;
  /** Counts a sign-up, whether it succeeds or not. @returns the seconds to wait, or null if the sign-up is allowed. */
  countSignUp(address: string): Promise<number | null>;
  /** Counts a client that registers, or whose metadata has to be fetched. @returns the same. */
  countClient(address: string): Promise<number | null>;
  /** Counts a request of a program that waits for a person. @returns the same. */
  countAuthorization(address: string): Promise<number | null>;
  /** Counts a mail that an account requests. @returns the seconds to wait, or null if it may be sent. */
  countMail(accountId: number): Promise<number | null>;
  /** Counts a request of an account that asks the payment provider. @returns the same. */
  countPayment(accountId: number): Promise<number | null>;
  /** Counts a code of a coupon that an account tries. @returns the same. */
  countCoupon(accountId: number, address: string): Promise<number | null>;
  /** Does not count a code that was right. */
  forgiveCoupon(accountId: number, address: string): Promise<void>;
  /** Counts a request for a password link, for an address with or without an account. @returns the same. */
  countForgotten(address: string, email: string): Promise<number | null>;
  /** @returns the seconds to wait before a token from this address is checked, or null if it may be checked now. */
  tokenWait(address: string): Promise<number | null>;
  countWrongToken(address: string): Promise<void>;
}

/** @param perHour the settings SIGN_UPS_PER_HOUR and CLIENT_REGISTRATIONS_PER_HOUR. */
export function createAttempts(
  redis: Redis,
  keys: RedisKeys,
  perHour: { signUps: number; clients: number },
): Attempts {
  const limiter = (kind: string, points: number, duration: number) =>
    new RateLimiterRedis({
      points,
      duration,
      storeClient: redis,
      keyPrefix: keys.attempts(kind),
      insuranceLimiter: new RateLimiterMemory({ points, duration }),
    });
  const byAccount = limiter('account', PASSWORDS.account, QUARTER_SECONDS);
  const byNetwork = limiter('network', PASSWORDS.network, QUARTER_SECONDS);
  const successes = limiter('success', SUCCESSES, QUARTER_SECONDS);
  const tokens = limiter('token', TOKENS, QUARTER_SECONDS);
  const mails = limiter('mail', MAILS.account, HOUR_SECONDS);
  const payments = limiter('payment', PAYMENTS, QUARTER_SECONDS);
  const couponsByAccount = limiter('coupon-account', COUPONS.account, QUARTER_SECONDS);
  const couponsByNetwork = limiter('coupon-network', COUPONS.network, QUARTER_SECONDS);
  const forgottenByNetwork = limiter('forgotten-network', MAILS.network, HOUR_SECONDS);
  const forgottenByAddress = limiter('forgotten-address', MAILS.address, HOUR_SECONDS);
  const signUps = limiter('sign-up', perHour.signUps, HOUR_SECONDS);
  const authorizations = limiter('authorization', AUTHORIZATIONS, HOUR_SECONDS);
  const clients = limiter('client', perHour.clients, HOUR_SECONDS);
  return {
    async count(attempt) {
      // A network that has to wait does not use up attempts for the account.
      return (
        (await secondsUntilFree(successes, attempt.email)) ??
        (attempt.isKnownDevice ? null : await secondsToWait(byNetwork, networkOf(attempt.address))) ??
        (await secondsToWait(byAccount, placeOf(attempt)))
      );
    },
    async forgive(attempt) {
      if (!attempt.isKnownDevice) await byNetwork.reward(networkOf(attempt.address));
      await byAccount.delete(placeOf(attempt));
      await secondsToWait(successes, attempt.email);
    },
    countSingleSignOn: (address) => secondsToWait(byNetwork, networkOf(address)),
    async forgiveSingleSignOn(address) {
      await byNetwork.reward(networkOf(address));
    },
    countSignUp: (address) => secondsToWait(signUps, neighbourhoodOf(address)),
    countAuthorization: (address) => secondsToWait(authorizations, neighbourhoodOf(address)),
    countClient: (address) => secondsToWait(clients, neighbourhoodOf(address)),
    countMail: (accountId) => secondsToWait(mails, String(accountId)),
    countPayment: (accountId) => secondsToWait(payments, String(accountId)),
    async countCoupon(accountId, address) {
      return (
        (await secondsToWait(couponsByAccount, String(accountId))) ??
        (await secondsToWait(couponsByNetwork, networkOf(address)))
      );
    },
    async forgiveCoupon(accountId, address) {
      await couponsByAccount.reward(String(accountId));
      await couponsByNetwork.reward(networkOf(address));
    },
    async countForgotten(address, email) {
      return (
        (await secondsToWait(forgottenByNetwork, networkOf(address))) ??
        (await secondsToWait(forgottenByAddress, email))
      );
    },
    tokenWait: (address) => secondsUntilFree(tokens, networkOf(address)),
    async countWrongToken(address) {
      await secondsToWait(tokens, networkOf(address));
    },
  };
}

/** The places whose passwords are hashed one after the other: the network, and the account from there or from its known devices. */
export function placesOf(attempt: Attempt): string[] {
  return [networkOf(attempt.address), placeOf(attempt)];
}

/** The account, and the network or known device that the attempt comes from. */
function placeOf({ address, email, isKnownDevice }: Attempt): string {
  return `${email} ${isKnownDevice ? 'known device' : networkOf(address)}`;
}

async function secondsToWait(limiter: RateLimiterRedis, key: string): Promise<number | null> {
  try {
    await limiter.consume(key);
    return null;
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return seconds(refusal);
    throw refusal;
  }
}

/** Returns the seconds to wait before the next attempt, without counting one; null if it is allowed. */
async function secondsUntilFree(limiter: RateLimiterRedis, key: string): Promise<number | null> {
  const counted = await limiter.get(key);
  return counted && counted.consumedPoints >= limiter.points ? seconds(counted) : null;
}

function seconds({ msBeforeNext }: RateLimiterRes): number {
  return Math.max(1, Math.ceil(msBeforeNext / 1000));
}
