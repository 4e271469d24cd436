import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { SoukError } from '../platform/errors.ts';
import { recentlyUsed } from '../platform/recently-used.ts';
import { unknownKey } from './authentication.ts';
import { networkOf } from './networks.ts';

/** Unknown keys of an address that are looked up in a minute; default of the setting UNKNOWN_KEYS_PER_MINUTE. */
export const UNKNOWN_KEYS_PER_MINUTE = 60;

const MINUTE_MS = 60_000;

/** Keys of a network beyond the limit that are looked up in a second, because one of them may be valid. */
const LOOK_UPS_PER_SECOND = 100;

/** Limit of memory. A key that is forgotten early is only looked up again. */
const MAX_DIGESTS = 50_000;

/**
 * Limits the look-ups of unknown keys. A key that was unknown in the last minute is refused without a look-up, and is not
 * counted again. Keys that the gateway has seen to be valid need no look-up and are not limited.
 */
export interface WrongKeys {
  /**
   * Looks up a key that this gateway does not know.
   * @param find looks the key up. @throws SoukError KEY_INVALID if the key is unknown; TOO_MANY_ATTEMPTS instead if its address
   * has sent too many.
   */
  lookUp<Found>(address: string, keyHash: Buffer, find: () => Promise<Found>): Promise<Found>;
  /** Counts a key that was looked up and does not exist. */
  count(address: string, keyHash: Buffer): void;
}

/** @param perMinute the setting UNKNOWN_KEYS_PER_MINUTE; null: no limit. */
export function createWrongKeys(now: () => number, perMinute: number | null): WrongKeys {
  const counts = new RateLimiterMemory({ points: perMinute ?? Number.MAX_SAFE_INTEGER, duration: 60 });
  const lookUps = new RateLimiterMemory({ points: LOOK_UPS_PER_SECOND, duration: 1 });
  /** Digests of unknown keys, with the time from which they are looked up again. Keys are random, so a key that is created later is not among them. */
  const unknown = recentlyUsed<string, number>(MAX_DIGESTS);

  const isUnknown = (keyHash: Buffer) => (unknown.get(keyHash.toString('latin1')) ?? 0) > now();
  const count = (address: string, keyHash: Buffer) => {
    if (isUnknown(keyHash)) return;
    unknown.set(keyHash.toString('latin1'), now() + MINUTE_MS);
    void counts.penalty(networkOf(address));
  };

  return {
    count,
    async lookUp(address, keyHash, find) {
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

function tooManyUnknown({ consumedPoints, msBeforeNext }: RateLimiterRes): SoukError {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new SoukError('TOO_MANY_ATTEMPTS', {
    message: `This address has sent ${consumedPoints} unknown API keys in a minute. Wait ${seconds} s before you send another key.`,
    retryAfterSeconds: seconds,
  });
}
