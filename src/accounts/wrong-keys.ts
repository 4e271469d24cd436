import { type Clock, sleep } from '../platform/clock.ts';
import { SoukError } from '../platform/errors.ts';
import { recentlyUsed } from '../platform/recently-used.ts';
import { unknownKey } from './authentication.ts';
import { networkOf } from './networks.ts';

/** Unknown keys of an address that are looked up in a minute without delay; default of the setting UNKNOWN_KEYS_PER_MINUTE. */
export const UNKNOWN_KEYS_PER_MINUTE = 60;

const MINUTE_MS = 60_000;

/** Keys of addresses beyond the limit are looked up together, once in this time. */
const TURN_MS = 1_000;

/** Keys that wait for the next common look-up: from one network, and from all. Further ones are refused without a look-up. */
const MAX_WAITING_OF_NETWORK = 500;
const MAX_WAITING = 2_000;

/** Limits of memory. An entry that is evicted early is only counted or looked up again. */
const MAX_ADDRESSES = 10_000;
const MAX_DIGESTS = 50_000;

/**
 * Limits the look-ups of unknown keys. A key that was unknown in the last minute is refused without a look-up, and is not
 * counted again. Keys that the gateway has seen to be valid need no look-up and are not limited. A valid key that the gateway
 * has not seen is found within a second, even if its address floods the gateway with unknown ones.
 */
export interface WrongKeys {
  /**
   * Looks up a key that this gateway does not know, at once or, if its address has sent too many unknown keys, with others.
   * @param find looks the key up. @throws SoukError KEY_INVALID if the key is unknown; TOO_MANY_ATTEMPTS instead if its address
   * has sent too many.
   */
  lookUp<Found>(address: string, keyHash: Buffer, find: () => Promise<Found>): Promise<Found>;
  /** Counts a key that was looked up and does not exist. */
  count(address: string, keyHash: Buffer): void;
}

interface Minute {
  endsAt: number;
  count: number;
}

/** @param perMinute the setting UNKNOWN_KEYS_PER_MINUTE; null: no limit. */
export function createWrongKeys(clock: Clock, perMinute: number | null): WrongKeys {
  const { now } = clock;
  const minutes = recentlyUsed<string, Minute>(MAX_ADDRESSES);
  /** Digests of unknown keys, with the time from which they are looked up again. Keys are random, so a key that is created later is not among them. */
  const unknown = recentlyUsed<string, number>(MAX_DIGESTS);
  const nextTurn = createTurns(clock);

  const isUnknown = (keyHash: Buffer) => (unknown.get(keyHash.toString('latin1')) ?? 0) > now();
  const minuteOf = (network: string): Minute => {
    const minute = minutes.get(network);
    return minute && minute.endsAt > now() ? minute : { endsAt: now() + MINUTE_MS, count: 0 };
  };
  const count = (network: string, keyHash: Buffer) => {
    if (isUnknown(keyHash)) return;
    unknown.set(keyHash.toString('latin1'), now() + MINUTE_MS);
    const minute = minuteOf(network);
    minute.count += 1;
    minutes.set(network, minute);
  };

  return {
    count: (address, keyHash) => count(networkOf(address), keyHash),
    async lookUp(address, keyHash, find) {
      if (isUnknown(keyHash)) throw unknownKey();
      const network = networkOf(address);
      if (perMinute === null || minuteOf(network).count < perMinute) return find();
      const turn = nextTurn(network);
      if (!turn) throw tooManyUnknown(minuteOf(network), now());
      await turn;
      try {
        return await find();
      } catch (error) {
        if (!(error instanceof SoukError && error.kind === 'KEY_INVALID')) throw error;
        count(network, keyHash);
        throw tooManyUnknown(minuteOf(network), now());
      }
    },
  };
}

/** Returns a function that waits for the next common look-up; it returns null if too many keys wait already. */
function createTurns(clock: Clock): (network: string) => Promise<void> | null {
  let turn: Promise<void> | null = null;
  let waiting = 0;
  let waitingBy = new Map<string, number>();

  return (network) => {
    const ofNetwork = waitingBy.get(network) ?? 0;
    if (waiting >= MAX_WAITING || ofNetwork >= MAX_WAITING_OF_NETWORK) return null;
    waiting += 1;
    waitingBy.set(network, ofNetwork + 1);
    turn ??= sleep(clock, TURN_MS, undefined, 'key look-up').then(() => {
      [turn, waiting, waitingBy] = [null, 0, new Map()];
    });
    return turn;
  };
}

function tooManyUnknown({ count, endsAt }: Minute, now: number): SoukError {
  const seconds = Math.max(1, Math.ceil((endsAt - now) / 1000));
  return new SoukError('TOO_MANY_ATTEMPTS', {
    message: `This address has sent ${count} unknown API keys in a minute. Wait ${seconds} s before you send another key.`,
    retryAfterSeconds: seconds,
  });
}
