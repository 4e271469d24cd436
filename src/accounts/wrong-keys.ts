import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { SoukError } from '../platform/errors.ts';
import { unknownKey } from './authentication.ts';

/** Unknown keys of an address that are looked up in a minute; default of the setting UNKNOWN_KEYS_PER_MINUTE. */
export const UNKNOWN_KEYS_PER_MINUTE = 60;

const MINUTE_MS = 60_000;

/** Limits of memory. An entry that is evicted early is only counted or looked up again. */
const MAX_ADDRESSES = 10_000;
const MAX_DIGESTS = 50_000;

/**
 * Limits the look-ups of unknown keys. A key that was unknown in the last minute is refused without a look-up, and is not
 * counted again. Keys that the gateway has seen to be valid need no look-up and are not limited.
 */
export interface WrongKeys {
  /**
   * Decides whether a key that this gateway does not know may be looked up.
   * @throws SoukError KEY_INVALID if it was unknown in the last minute, TOO_MANY_ATTEMPTS if its address has sent too many.
   */
  check(address: string, keyHash: Buffer): void;
  /** Counts a key that was looked up and does not exist. */
  count(address: string, keyHash: Buffer): void;
}

interface Minute {
  endsAt: number;
  count: number;
}

/** @param perMinute the setting UNKNOWN_KEYS_PER_MINUTE; null: no limit. */
export function createWrongKeys(now: () => number, perMinute: number | null): WrongKeys {
  const minutes = new LRUCache<string, Minute>({ max: MAX_ADDRESSES });
  /** Digests of unknown keys, with the time from which they are looked up again. Keys are random, so a key that is created later is not among them. */
  const unknown = new LRUCache<string, number>({ max: MAX_DIGESTS });

  const isUnknown = (digest: string) => (unknown.get(digest) ?? 0) > now();
  const minuteOf = (network: string): Minute => {
    const minute = minutes.get(network);
    return minute && minute.endsAt > now() ? minute : { endsAt: now() + MINUTE_MS, count: 0 };
  };

  return {
    check(address, keyHash) {
      if (isUnknown(keyHash.toString('latin1'))) throw unknownKey();
      const { count, endsAt } = minuteOf(networkOf(address));
      if (perMinute === null || count < perMinute) return;
      const seconds = Math.max(1, Math.ceil((endsAt - now()) / 1000));
      throw new SoukError('TOO_MANY_ATTEMPTS', {
        message: `This address has sent ${count} unknown API keys in a minute. Wait ${seconds} s before you send another key.`,
        retryAfterSeconds: seconds,
      });
    },

    count(address, keyHash) {
      const digest = keyHash.toString('latin1');
      if (isUnknown(digest)) return;
      unknown.set(digest, now() + MINUTE_MS);
      const network = networkOf(address);
      const minute = minuteOf(network);
      minute.count += 1;
      minutes.set(network, minute);
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
