import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { MINUTE_MS } from '../platform/durations.ts';
import { SoukError } from '../platform/errors.ts';
import { recentlyUsed } from '../platform/recently-used.ts';
import type { Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import { unknownKey } from './authentication.ts';
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
 * Limits attempts to guess passwords, operator tokens and codes of coupons, sign-ups, requested mails and requests about payments, over
 * all gateways. While Redis is unavailable each gateway counts for itself. Attempts are counted by network, so that strangers cannot
 * lock an owner out in other networks. Each `count...` counts an attempt, whether it succeeds or not, and returns the seconds to wait
 * before the next; null if the attempt is allowed.
 * @param perHour the settings SIGN_UPS_PER_HOUR and CLIENT_REGISTRATIONS_PER_HOUR.
 */
export function createAttempts(redis: Redis, keys: RedisKeys, perHour: { signUps: number; clients: number }) {
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
    /** Counts an attempt to sign in with a password. */
    async count(attempt: Attempt) {
      // A network that has to wait does not use up attempts for the account.
      return (
        (await secondsUntilFree(successes, attempt.email)) ??
        (attempt.isKnownDevice ? null : await secondsToWait(byNetwork, networkOf(attempt.address))) ??
        (await secondsToWait(byAccount, placeOf(attempt)))
      );
    },
    /** Records a correct password: resets the count of the account from this place, and does not count the attempt for the network. Counts the success. */
    async forgive(attempt: Attempt) {
      if (!attempt.isKnownDevice) await byNetwork.reward(networkOf(attempt.address));
      await byAccount.delete(placeOf(attempt));
      await secondsToWait(successes, attempt.email);
    },
    /** Counts a sign-in by OpenID Connect for the network. */
    countSingleSignOn: (address: string) => secondsToWait(byNetwork, networkOf(address)),
    /** Does not count a sign-in that succeeded. */
    async forgiveSingleSignOn(address: string) {
      await byNetwork.reward(networkOf(address));
    },
    countSignUp: (address: string) => secondsToWait(signUps, neighbourhoodOf(address)),
    /** Counts a request of a program that waits for a person. */
    countAuthorization: (address: string) => secondsToWait(authorizations, neighbourhoodOf(address)),
    /** Counts a client that registers, or whose metadata has to be fetched. */
    countClient: (address: string) => secondsToWait(clients, neighbourhoodOf(address)),
    /** Counts a mail that an account requests. */
    countMail: (accountId: number) => secondsToWait(mails, String(accountId)),
    /** Counts a request of an account that asks the payment provider. */
    countPayment: (accountId: number) => secondsToWait(payments, String(accountId)),
    /** Counts a code of a coupon that an account tries. */
    async countCoupon(accountId: number, address: string) {
      return (
        (await secondsToWait(couponsByAccount, String(accountId))) ??
        (await secondsToWait(couponsByNetwork, networkOf(address)))
      );
    },
    /** Does not count a code that was right. */
    async forgiveCoupon(accountId: number, address: string) {
      await couponsByAccount.reward(String(accountId));
      await couponsByNetwork.reward(networkOf(address));
    },
    /** Counts a request for a password link, for an address with or without an account. */
    async countForgotten(address: string, email: string) {
      return (
        (await secondsToWait(forgottenByNetwork, networkOf(address))) ??
        (await secondsToWait(forgottenByAddress, email))
      );
    },
    /** Returns the seconds to wait before a token from this address is checked; null if it may be checked now. */
    tokenWait: (address: string) => secondsUntilFree(tokens, networkOf(address)),
    async countWrongToken(address: string) {
      await secondsToWait(tokens, networkOf(address));
    },
  };
}

export type Attempts = ReturnType<typeof createAttempts>;

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

/** Unknown keys of an address that are looked up in a minute; default of the setting UNKNOWN_KEYS_PER_MINUTE. */
export const UNKNOWN_KEYS_PER_MINUTE = 60;

/** Keys of a network beyond the limit that are looked up in a second, because one of them may be valid. */
const LOOK_UPS_PER_SECOND = 100;

/** Limit of memory. A key that is forgotten early is only looked up again. */
const MAX_DIGESTS = 50_000;

/**
 * Limits the look-ups of unknown keys. A key that was unknown in the last minute is refused without a look-up, and is not
 * counted again. Keys that the gateway has seen to be valid need no look-up and are not limited.
 * @param perMinute the setting UNKNOWN_KEYS_PER_MINUTE; null: no limit.
 */
export function createWrongKeys(now: () => number, perMinute: number | null) {
  const counts = new RateLimiterMemory({ points: perMinute ?? Number.MAX_SAFE_INTEGER, duration: 60 });
  const lookUps = new RateLimiterMemory({ points: LOOK_UPS_PER_SECOND, duration: 1 });
  /** Digests of unknown keys, with the time from which they are looked up again. Keys are random, so a key that is created later is not among them. */
  const unknown = recentlyUsed<string, number>(MAX_DIGESTS);

  const isUnknown = (keyHash: Buffer) => (unknown.get(keyHash.toString('latin1')) ?? 0) > now();
  /** Counts a key that was looked up and does not exist. */
  const count = (address: string, keyHash: Buffer) => {
    if (isUnknown(keyHash)) return;
    unknown.set(keyHash.toString('latin1'), now() + MINUTE_MS);
    void counts.penalty(networkOf(address));
  };

  return {
    count,
    /**
     * Looks up a key that this gateway does not know.
     * @param find looks the key up. @throws SoukError KEY_INVALID if the key is unknown; TOO_MANY_ATTEMPTS instead if its address
     * has sent too many.
     */
    async lookUp<Found>(address: string, keyHash: Buffer, find: () => Promise<Found>): Promise<Found> {
      if (isUnknown(keyHash)) throw unknownKey();
      const counted = await counts.get(networkOf(address));
      if (!counted || counted.remainingPoints > 0) return find();
      await lookUps.consume(networkOf(address)).catch(() => {
        throw tooManyUnknown(counted);
      });
      return find().catch((error: unknown) => {
        if (!(error instanceof SoukError && error.kind === 'KEY_INVALID')) throw error;
        count(address, keyHash);
        throw tooManyUnknown(counted);
      });
    },
  };
}

export type WrongKeys = ReturnType<typeof createWrongKeys>;

function tooManyUnknown({ consumedPoints, msBeforeNext }: RateLimiterRes): SoukError {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new SoukError('TOO_MANY_ATTEMPTS', {
    message: `This address has sent ${consumedPoints} unknown API keys in a minute. Wait ${seconds} s before you send another key.`,
    retryAfterSeconds: seconds,
  });
}
