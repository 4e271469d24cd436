import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { type Clock, every } from '../src/clock.ts';
import { type ErrorRecord, fromRecord, type SoukError, toRecord } from '../src/errors.ts';
import type { Logger } from '../src/log.ts';
import type { RedisKeys } from '../src/redis-keys.ts';

/**
 * Lets one call at a time, of all calls in all worker processes, do the work that an identity stands for. That one
 * leads; the others follow: they wait for its end and find what it stored, or share its error.
 */
export interface SingleFlight {
  /** Whether the caller leads now; then it must `finish`. */
  tryLead(identity: string): Promise<boolean>;
  /** Tells the followers that the work is over; `error` is given to those who wait at this moment. */
  finish(identity: string, error?: SoukError): Promise<void>;
  /** Starts listening for the end of the present leader. Follow before looking, so that no end falls between. */
  follow(identity: string, signal: AbortSignal): Following;
  close(): Promise<void>;
}

export interface Following {
  /** Resolves when the leader may have ended. @throws SoukError the leader's error, or the signal's reason. */
  ended(): Promise<void>;
  /** Stops listening; needed when nobody waits for the end. */
  stop(): void;
}

/** A leader whose process died stops leading after this time. */
const LEASE_MS = 15_000;

const RENEW_EVERY_MS = 5_000;

/** An end whose news were lost is noticed by looking again after this time. */
const LOOK_AGAIN_MS = 2_000;

const FINISH = `
  if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
  redis.call('PUBLISH', ARGV[2], ARGV[3])`;

const RENEW = `
  if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`;

/** @param subscriber a Redis connection of its own: it is switched to subscription. */
export async function openSingleFlight(deps: {
  redis: Redis;
  subscriber: Redis;
  keys: RedisKeys;
  clock: Clock;
  log: Logger;
}): Promise<SingleFlight> {
  const { redis, subscriber, keys, clock, log } = deps;
  const scripts = registerScripts(redis);
  const leaderId = randomUUID();
  const leading = new Set<string>();
  const followers = new Map<string, Set<(error: ErrorRecord | null) => void>>();

  subscriber.on('message', (_channel, message) => {
    const { identity, error } = JSON.parse(message) as { identity: string; error: ErrorRecord | null };
    for (const tell of [...(followers.get(identity) ?? [])]) tell(error);
  });
  await subscriber.subscribe(keys.flightsChannel);

  const stopRenewing = every(clock, RENEW_EVERY_MS, async () => {
    const renewals = [...leading].map((identity) => scripts.renew(keys.flight(identity), leaderId, LEASE_MS));
    await Promise.all(renewals).catch((error) => log.warn({ err: error }, 'renewing leases failed'));
  });

  return {
    async tryLead(identity) {
      const taken = await redis.set(keys.flight(identity), leaderId, 'PX', LEASE_MS, 'NX');
      if (taken) leading.add(identity);
      return taken !== null;
    },

    async finish(identity, error) {
      leading.delete(identity);
      const news = JSON.stringify({ identity, error: error ? toRecord(error) : null });
      await scripts.finish(keys.flight(identity), leaderId, keys.flightsChannel, news);
    },

    follow(identity, signal) {
      const set = followers.get(identity) ?? new Set();
      followers.set(identity, set);
      let stop = () => {};
      const ended = new Promise<void>((resolve, reject) => {
        const tell = (error: ErrorRecord | null) => {
          stop();
          if (error) reject(fromRecord(error));
          else resolve();
        };
        const onAbort = () => {
          stop();
          reject(signal.reason);
        };
        const cancel = clock.after(LOOK_AGAIN_MS, () => tell(null));
        stop = () => {
          cancel();
          signal.removeEventListener('abort', onAbort);
          set.delete(tell);
          if (set.size === 0) followers.delete(identity);
        };
        set.add(tell);
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      });
      // It may fail before anybody waits.
      ended.catch(() => {});
      return { ended: () => ended, stop };
    },

    close: stopRenewing,
  };
}

type Script = (...args: (string | number)[]) => Promise<unknown>;

function registerScripts(redis: Redis): { finish: Script; renew: Script } {
  redis.defineCommand('soukFinishFlight', { numberOfKeys: 1, lua: FINISH });
  redis.defineCommand('soukRenewFlight', { numberOfKeys: 1, lua: RENEW });
  const commands = redis as unknown as Record<'soukFinishFlight' | 'soukRenewFlight', Script>;
  return {
    finish: (...args) => commands.soukFinishFlight(...args),
    renew: (...args) => commands.soukRenewFlight(...args),
  };
}
