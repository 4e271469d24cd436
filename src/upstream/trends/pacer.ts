import { type Clock, sleep } from '../../platform/clock.ts';
import type { Redis } from '../../platform/redis.ts';
import { beforeSending, type Cancellable } from '../cancellation.ts';
import { TokensAwaited } from '../token-bucket.ts';
import { Refusal } from './refusal.ts';

/**
 * Paces the calls of all workers to one rate-limited endpoint, through Redis: a burst at once, then one call in each
 * interval, and none for a while after the provider refuses.
 */
export interface Pacer {
  /**
   * Waits until a call may be sent. In the background it throws instead, so that the caller's worker slot becomes free.
   * @throws Refusal `paused` if the wait would be too long; TokensAwaited in the background; the signal's reason when it
   *   aborts.
   */
  turn(context: TurnContext): Promise<void>;
  /**
   * Blocks all calls for `firstMs`, and twice as long for each further pause soon after, up to `longestMs`; at least for
   * `leastMs`, default 0.
   */
  pause(pause: { firstMs: number; longestMs: number; leastMs?: number }): Promise<void>;
}

export interface TurnContext extends Cancellable {
  /** Unix milliseconds. */
  deadlineAt: number;
  /** No request waits for the answer. */
  readonly background: boolean;
}

export interface Pace {
  /** Milliseconds from one call to the next. */
  intervalMs: number;
  /** Calls that may be sent at once after an idle period. */
  burst: number;
}

/** The longest wait for a call. After it an error is more useful to the caller. */
export const LONGEST_WAIT_MS = 20_000;

/** A refusal counts as the first again after this time without one. */
const FORGIVE_MS = 3_600_000;

/**
 * A hash: `next` is the time when the intervals of all calls so far end, `openAt` the end of a pause, `refusals` the
 * number of consecutive pauses. Times are Unix milliseconds. Returns the wait for the turn that was taken; a negative
 * number is the wait that would have been needed, and no turn was taken.
 */
const TURN = `
  local now, interval, burst, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local state = redis.call('HMGET', KEYS[1], 'next', 'openAt')
  local from = math.max(now, tonumber(state[2] or '0'))
  local next = math.max(from, tonumber(state[1] or '0'))
  local wait = math.max(from - now, next - now - (burst - 1) * interval)
  if wait > longest then return -wait end
  redis.call('HSET', KEYS[1], 'next', next + interval)
  redis.call('PEXPIRE', KEYS[1], ${FORGIVE_MS} * 2)
  return wait`;

/** Refusals during a pause count once. No burst accumulates while the endpoint is paused. */
const PAUSE = `
  local now, interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
  local state = redis.call('HMGET', KEYS[1], 'openAt', 'refusals')
  local openAt, refusals = tonumber(state[1] or '0'), tonumber(state[2] or '0')
  if openAt > now then return end
  if openAt + ${FORGIVE_MS} < now then refusals = 0 end
  openAt = now + math.max(tonumber(ARGV[6]), math.min(tonumber(ARGV[4]) * 2 ^ refusals, tonumber(ARGV[5])))
  local next = openAt + (burst - 1) * interval
  redis.call('HSET', KEYS[1], 'openAt', openAt, 'refusals', refusals + 1, 'next', next)
  redis.call('PEXPIRE', KEYS[1], openAt - now + ${FORGIVE_MS} * 2)`;

export function createPacer(redis: Redis, key: string, { intervalMs, burst }: Pace, clock: Clock): Pacer {
  redis.defineCommand('soukTakeTurn', { numberOfKeys: 1, lua: TURN });
  redis.defineCommand('soukPause', { numberOfKeys: 1, lua: PAUSE });
  const scripts = redis as unknown as {
    soukTakeTurn(...args: (string | number)[]): Promise<number>;
    soukPause(...args: (string | number)[]): Promise<unknown>;
  };

  return {
    async turn(context) {
      const { deadlineAt } = context;
      const signal = beforeSending(context);
      signal.throwIfAborted();
      const until = Math.min(clock.now() + LONGEST_WAIT_MS, deadlineAt);
      for (;;) {
        const now = clock.now();
        const longest = context.background ? 0 : Math.max(0, until - now);
        const waitMs = await scripts.soukTakeTurn(key, now, intervalMs, burst, longest);
        if (waitMs < 0) {
          if (context.background) throw new TokensAwaited(-waitMs);
          throw new Refusal('paused', `no call may be sent for ${-waitMs} ms`, { retryAfterMs: -waitMs });
        }
        if (waitMs === 0) return;
        await sleep(clock, waitMs, signal, 'upstream pacing');
        // The provider may have refused a call of another worker meanwhile.
        if (Number(await redis.hget(key, 'openAt')) <= clock.now()) return;
      }
    },

    async pause({ firstMs, longestMs, leastMs = 0 }) {
      await scripts.soukPause(key, clock.now(), intervalMs, burst, firstMs, longestMs, leastMs);
    },
  };
}
