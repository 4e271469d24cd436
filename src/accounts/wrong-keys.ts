import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { SoukError } from '../platform/errors.ts';

/** Wrong keys an address may send in a minute before it is asked to slow down. */
export const WRONG_KEYS_A_MINUTE = 20;

const MINUTE_MS = 60_000;

/** Bounds on memory: what is forgotten early is only counted anew, or looked up once more. */
const MAX_ADDRESSES = 10_000;
const MAX_DIGESTS = 50_000;

/**
 * Slows down whoever tries keys. From an address that has sent too many wrong ones, each further wrong key is answered
 * with how long to wait, and one that was tried in this minute already is refused without asking the database.
 * A good key is never affected, also beside wrong ones behind the same address: it is looked up whatever was counted.
 */
export interface WrongKeys {
  /** @throws SoukError KEY_INVALID when an address that was told to wait repeats a key nobody has. */
  check(address: string, keyHash: Buffer): void;
  /** Counts a wrong key. @returns what to answer: the refusal itself, or one that says how long to wait. */
  refuse(address: string, keyHash: Buffer | null, refusal: SoukError): SoukError;
}

interface Minute {
  endsAt: number;
  count: number;
}

export function createWrongKeys(now: () => number): WrongKeys {
  const minutes = new LRUCache<string, Minute>({ max: MAX_ADDRESSES });
  /** Digests of keys that nobody has, with until when that is believed: a key that is new is never one of them. */
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
        throw new SoukError('KEY_INVALID', { message: 'This API key is not known.' });
    },

    refuse(address, keyHash, refusal) {
      const minute = minuteOf(address);
      minute.count += 1;
      minutes.set(networkOf(address), minute);
      if (keyHash) unknown.set(keyHash.toString('latin1'), now() + MINUTE_MS);
      if (minute.count <= WRONG_KEYS_A_MINUTE) return refusal;
      const retryAfterSeconds = Math.max(1, Math.ceil((minute.endsAt - now()) / 1000));
      return new SoukError(refusal.kind, {
        message: `${refusal.message} Too many wrong keys have come from this address; wait ${retryAfterSeconds} s before the next.`,
        retryAfterSeconds,
      });
    },
  };
}

/** Who has one IPv6 address has the 2^64 of its network as well, so they count as one. */
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
