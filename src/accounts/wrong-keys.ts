import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { SoukError } from '../platform/errors.ts';

/** Wrong keys that an address may send in a minute before it must wait. */
export const WRONG_KEYS_A_MINUTE = 20;

const MINUTE_MS = 60_000;

/** Limits of memory. An entry that is evicted early is only counted or looked up again. */
const MAX_ADDRESSES = 10_000;
const MAX_DIGESTS = 50_000;

/**
 * Limits guessing of keys. An address that has sent too many wrong keys receives a time to wait with each further one, and
 * a key that was wrong in the last minute is refused without a query. Valid keys are never affected, even from the same
 * address: they are always looked up.
 */
export interface WrongKeys {
  /** @throws SoukError KEY_INVALID if an address that has to wait repeats an unknown key. */
  check(address: string, keyHash: Buffer): void;
  /** Counts a wrong key. @returns the error to send: the refusal, or one with a time to wait. */
  refuse(address: string, keyHash: Buffer | null, refusal: SoukError): SoukError;
}

interface Minute {
  endsAt: number;
  count: number;
}

export function createWrongKeys(now: () => number): WrongKeys {
  const minutes = new LRUCache<string, Minute>({ max: MAX_ADDRESSES });
  /** Digests of unknown keys with the time at which they are looked up again. Keys are random, so no new key is among them. */
  const unknown = new LRUCache<string, number>({ max: MAX_DIGESTS });

  const minuteOf = (address: string): Minute => {
    const minute = minutes.get(networkOf(address));
    return minute && minute.endsAt > now() ? minute : { endsAt: now() + MINUTE_MS, count: 0 };
  };

  return {
    check(address, keyHash) {
      if (unknown.size === 0) return;
      const until = unknown.get(keyHash.toString('latin1'));
      if (until === undefined || until <= now()) return;
      if (minuteOf(address).count >= WRONG_KEYS_A_MINUTE)
        throw new SoukError('KEY_INVALID', { message: 'This API key does not exist.' });
    },

    refuse(address, keyHash, refusal) {
      const minute = minuteOf(address);
      minute.count += 1;
      minutes.set(networkOf(address), minute);
      if (keyHash) unknown.set(keyHash.toString('latin1'), now() + MINUTE_MS);
      if (minute.count <= WRONG_KEYS_A_MINUTE) return refusal;
      const retryAfterSeconds = Math.max(1, Math.ceil((minute.endsAt - now()) / 1000));
      return new SoukError(refusal.kind, {
        message: `${refusal.message} Too many wrong keys were sent from this address. Wait ${retryAfterSeconds} s before you send another.`,
        retryAfterSeconds,
      });
    },
  };
}

/** A client with one IPv6 address can use all 2^64 of its network, so they count as one. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? [];
  const groups = head ? head.split(':') : [];
  const rest = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - groups.length - rest.length }, () => '0');
  return [...groups, ...zeros, ...rest]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
