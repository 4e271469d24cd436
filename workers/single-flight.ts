import { randomUUID } from 'node:crypto';
import type { Result } from 'ioredis';
import { z } from 'zod';
import { listen } from '../src/platform/channel.ts';
import { type Clock, every } from '../src/platform/clock.ts';
import {
  type ErrorRecord,
  errorRecordSchema,
  fromRecord,
  type SoukError,
  toRecord,
} from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';
import type { Redis } from '../src/platform/redis.ts';
import type { RedisKeys } from '../src/platform/redis-keys.ts';
import {
  type Cache,
  decodeSource,
  encodeSource,
  type ReadAnswer,
  type StoredSource,
} from '../src/results/cache.ts';

/** The fetch of one source. A forced flight must return fresher data than an ordinary one, so it does not follow one. */
export interface Flight {
  identity: string;
  forced: boolean;
  /** See `Source.read`. */
  read?: ReadAnswer | undefined;
}

/** The message that a flight has ended, for processes whose calls follow it. */
const flightSchema = z.object({ flight: z.string(), error: errorRecordSchema.nullable() });

/** If the process of a leader dies, its lead ends after this time. */
const LEASE_MS = 15_000;

const RENEW_EVERY_MS = 5_000;

/** Returns the key that exists while a flight may have followers. */
const followed = (flight: string) => `${flight}:followed`;

/** The result of taking a flight while the cache is down: the call fetches, and no other call follows it. */
const WITHOUT_CACHE = 'without cache';

const NOTHING = Buffer.alloc(0);

/** From this size on, Redis uses the memory of a command's argument for the stored value. */
const LARGE_BYTES = 32_768;

/** A follower checks again after this time, in case the completion message was lost. */
const LOOK_AGAIN_MS = 2_000;

const TAKE = `
  local head = redis.call('GETRANGE', KEYS[1], 0, 7)
  if #head == 8 and struct.unpack('>d', head) > tonumber(ARGV[3]) then return redis.call('GET', KEYS[1]) end
  if redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2], 'NX') then return 1 end
  redis.call('SET', KEYS[3], 1, 'PX', ARGV[2])
  return 0`;

const FINISH = `
  if #ARGV[4] > 0 then redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5]) end
  if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
  if redis.call('DEL', KEYS[3]) == 1 then redis.call('PUBLISH', ARGV[2], ARGV[3]) end`;

const RENEW = `
  if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    soukTakeFlightBuffer(...args: (string | number)[]): Result<unknown, Context>;
    soukFinishFlight(...args: (string | number | Buffer)[]): Result<unknown, Context>;
    soukRenewFlight(...args: (string | number)[]): Result<unknown, Context>;
  }
}

export type SingleFlight = Awaited<ReturnType<typeof openSingleFlight>>;

/**
 * Lets one call at a time, of all calls in all worker processes, fetch a source. That call leads. The others
 * follow: they wait until it ends, and then read what it stored or get its error. While a cache of its own is down, each
 * call fetches for itself.
 * @param deps.subscriber a connection to the Redis of the cache for subscriptions only.
 */
export async function openSingleFlight(deps: {
  cache: Cache;
  subscriber: Redis;
  keys: RedisKeys;
  clock: Clock;
  log: Logger;
}) {
  const { cache, keys, clock, log } = deps;
  const { redis } = cache;
  redis.defineCommand('soukTakeFlight', { numberOfKeys: 3, lua: TAKE });
  redis.defineCommand('soukFinishFlight', { numberOfKeys: 3, lua: FINISH });
  redis.defineCommand('soukRenewFlight', { numberOfKeys: 1, lua: RENEW });
  const leaderId = randomUUID();
  /** Keys of the flights that this process leads. */
  const leading = new Set<string>();
  const followers = createFollowers(clock);
  const listening = listen(deps, keys.flightsChannel, flightSchema, ({ flight, error }) =>
    followers.notify(flight, error),
  );
  // If the cache is down, the subscription is made when it returns.
  if (deps.subscriber.status === 'ready' || !cache.isOwn) await listening;
  else listening.catch((error: unknown) => log.warn({ err: error }, 'failed to listen for flights'));

  const stopRenewing = every(clock, RENEW_EVERY_MS, async () => {
    const renew = (flight: string) =>
      cache.attempt(() => redis.soukRenewFlight(flight, leaderId, LEASE_MS), null);
    const renewals = [...leading].map(renew);
    await Promise.all(renewals).catch((error) => log.warn({ err: error }, 'failed to renew leases'));
  });

  return {
    /**
     * Returns the stored source if it was fetched after `newerThan` (Unix milliseconds). Otherwise takes the lead if
     * no other call has it; then the caller must call `finish`.
     */
    async take(
      { identity, forced, read }: Flight,
      newerThan: number,
    ): Promise<StoredSource | 'leads' | 'follows'> {
      const flight = keys.flight(identity, forced);
      const places = [keys.source(identity), flight, followed(flight)];
      const taken = await cache.attempt(
        () => redis.soukTakeFlightBuffer(...places, leaderId, LEASE_MS, newerThan),
        WITHOUT_CACHE,
      );
      if (Buffer.isBuffer(taken)) return decodeSource(taken, read);
      if (taken === 0) return 'follows';
      if (taken !== WITHOUT_CACHE) leading.add(flight);
      return 'leads';
    },

    /** Returns the stored source, of any age. */
    async stored({ identity, read }: Flight): Promise<StoredSource | null> {
      const bytes = await cache.attempt(() => cache.redis.getBuffer(keys.source(identity)), null);
      return bytes && decodeSource(bytes, read);
    },

    /** Stores the fetched source, if there is one, and notifies the followers. If `error` is given, they get it. */
    async finish(
      { identity, forced, read }: Flight,
      outcome: { fetched: StoredSource; lifetimeMs: number } | { error?: SoukError },
    ): Promise<void> {
      const flight = keys.flight(identity, forced);
      // This comes first, so that the lease is not renewed and another call takes over even if the rest fails.
      leading.delete(flight);
      const [stored, lifetimeMs] =
        'fetched' in outcome ? [await encodeSource(outcome.fetched, read), outcome.lifetimeMs] : [NOTHING, 0];
      const error = 'error' in outcome && outcome.error ? toRecord(outcome.error) : null;
      const message = JSON.stringify({ flight, error });
      const places = [keys.source(identity), flight, followed(flight)];
      const end = (source: Buffer) =>
        redis.soukFinishFlight(...places, leaderId, keys.flightsChannel, message, source, lifetimeMs);
      await cache.attempt(async () => {
        if (stored.length < LARGE_BYTES) return end(stored);
        // Redis copies the arguments of a script several times, and those of this command not at all.
        const written = cache.redis.set(keys.source(identity), stored, 'PX', lifetimeMs);
        return Promise.all([end(NOTHING), written]);
      }, null);
    },

    /** Listens for the end of the present leader. Call it before `take`, so that no end is missed. */
    follow: ({ identity, forced }: Flight, signal: AbortSignal) =>
      followers.follow(keys.flight(identity, forced), signal),

    close: stopRenewing,
  };
}

/** The calls of this process that wait for the end of a flight. */
function createFollowers(clock: Clock) {
  const followers = new Map<string, Set<(error: ErrorRecord | null) => void>>();
  return {
    /** Ends the waits for a flight whose leader has ended; `error` is the error of the leader. */
    notify(flight: string, error: ErrorRecord | null): void {
      for (const end of [...(followers.get(flight) ?? [])]) end(error);
    },

    follow(flight: string, signal: AbortSignal) {
      const set = followers.get(flight) ?? new Set();
      followers.set(flight, set);
      let stop = () => {};
      const ended = new Promise<void>((resolve, reject) => {
        const end = (error: ErrorRecord | null) => {
          stop();
          if (error) reject(fromRecord(error));
          else resolve();
        };
        const onAbort = () => {
          stop();
          reject(signal.reason);
        };
        const cancel = clock.after(LOOK_AGAIN_MS, () => end(null));
        stop = () => {
          cancel();
          signal.removeEventListener('abort', onAbort);
          set.delete(end);
          if (set.size === 0) followers.delete(flight);
        };
        set.add(end);
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      });
      // Prevents an unhandled rejection if it fails before a caller awaits it.
      ended.catch(() => {});
      return {
        /** Resolves when the leader may have ended. @throws SoukError the leader's error, or the signal's reason. */
        ended: () => ended,
        /** Stops listening. Required if the caller does not wait for the end. */
        stop: () => stop(),
      };
    },
  };
}
