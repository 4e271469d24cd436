import { randomUUID } from 'node:crypto';
import { type Clock, sleep } from '../platform/clock.ts';
import { SoukError } from '../platform/errors.ts';
import type { Redis } from '../platform/redis.ts';
import { beforeSending, type Cancellable } from './cancellation.ts';
import {
  ADVANCE,
  PLENTY_ADVANCES,
  SharedLease,
  type SharedLeaseDeps,
  type TokenLease,
} from './token-lease.ts';

/**
 * The operator's tokens at one provider, shared by all workers through Redis. A call takes its expected cost before it
 * is sent; every answer corrects the balance. While the bucket is empty, calls wait.
 */
export interface TokenBucket {
  /**
   * Waits until the call may be sent.
   * @param background true leaves a reserve for interactive calls at any cost of this call, and throws instead of waiting,
   *   so that the caller's worker slot becomes free.
   * @throws SoukError BUSY if no tokens are expected before `deadlineAt`; TokensAwaited if a background call would have to
   *   wait; a signal's reason when it aborts.
   */
  take(
    cost: number,
    options: Cancellable & { deadlineAt: number; readonly background: boolean },
  ): Promise<TokenLease>;
  /** Returns the tokens that this process has taken in advance. */
  close(): Promise<void>;
}

/** A background call has to wait for tokens. */
export class TokensAwaited extends Error {
  readonly waitMs: number;

  constructor(waitMs: number) {
    super(`no tokens for ${waitMs} ms`);
    this.waitMs = waitMs;
  }
}

/** The share of the bucket's capacity that only interactive calls may use. */
const RESERVED_SHARE = 0.1;

/** After this time, an unsettled lease counts as spent, and a lost call counts as ended by the provider. */
const LEASE_MS = 180_000;

/** How long the state is kept after the last call. */
const STATE_MS = 7_200_000;

/** How long a call waits for the reading of another call before it tries again. */
const LOOK_AGAIN_MS = 1_000;

/** Concurrent calls allowed before the first reading. */
const LEARNERS = 8;

/** The provider keeps unused tokens for an hour. */
const CAPACITY_MINUTES = 60;

/**
 * The bucket is a hash: left, rate, refillAt (Unix milliseconds of the next refill), stamp (the provider's time of the
 * reading), and estimated if tokens were taken off since the reading for calls without an answer. A sorted set holds the
 * leases as "id:cost" by expiry; a third key holds the sum of their costs. The fourth, another sorted set, holds lost calls
 * in the same form: until they expire, a reading may not contain their tokens yet.
 *
 * While many tokens are left, an interactive call takes an advance for the next calls of its process, in the same lease.
 * Settling a part of a lease keeps the rest in it. The tokens of a lease are taken until they are settled, so an advance
 * can only make the balance too low.
 *
 * Tokens of a lost call, and of a dead worker's lease, are spent: they come back with a reading only. While the balance is an
 * estimate, one call at a time is sent even without tokens, because its reading, or the provider's 429, replaces the
 * estimate. Before the first reading a few concurrent calls are allowed: with only one, a slow
 * call would block all others, and pictures, whose answers have no reading, would be fetched one at a time.
 */
const COMMON = `
  local now = tonumber(ARGV[1])
  local function costOf(member) return tonumber(string.match(member, ':(%d+)$')) end
  local function refill()
    local state = redis.call('HMGET', KEYS[1], 'left', 'rate', 'refillAt')
    local left, rate, refillAt = tonumber(state[1]), tonumber(state[2]), tonumber(state[3])
    if now >= refillAt then
      local ticks = 1 + math.floor((now - refillAt) / 60000)
      left = math.min(left + ticks * rate, rate * ${CAPACITY_MINUTES})
      refillAt = refillAt + ticks * 60000
      redis.call('HSET', KEYS[1], 'left', left, 'refillAt', refillAt)
    end
    return left, rate, refillAt
  end
  local function spend(tokens)
    if redis.call('EXISTS', KEYS[1]) == 0 then return end
    refill()
    redis.call('HINCRBYFLOAT', KEYS[1], 'left', -tokens)
  end
  local function release(member)
    if redis.call('ZREM', KEYS[2], member) == 0 then return false end
    redis.call('DECRBY', KEYS[3], costOf(member))
    return true
  end
  local function hold(member, expiry)
    redis.call('ZADD', KEYS[2], expiry, member)
    redis.call('INCRBY', KEYS[3], costOf(member))
    redis.call('PEXPIRE', KEYS[2], ${STATE_MS})
    redis.call('PEXPIRE', KEYS[3], ${STATE_MS})
  end
  local function lose(member)
    spend(costOf(member))
    if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'estimated', 1) end
  end`;

const TAKE = `${COMMON}
  local id, cost, background = ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
  local advance = 0
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do
    release(member)
    lose(member)
  end
  local taken = tonumber(redis.call('GET', KEYS[3]) or '0')
  local underWay = redis.call('ZCARD', KEYS[2])
  if redis.call('EXISTS', KEYS[1]) == 0 then
    if underWay >= ${LEARNERS} then return 100 end
  else
    local left, rate, refillAt = refill()
    local capacity = rate * ${CAPACITY_MINUTES}
    local reserve = capacity * ${RESERVED_SHARE}
    -- The provider lets any call begin while one token is left. In the background a call may not take from the reserve,
    -- unless it costs more than there ever is beside it; that one waits until the bucket is full.
    local needed = background and math.min(reserve + cost, capacity) or 1
    local free = left - taken
    if free < needed then
      local ticks = math.ceil((needed - free) / rate)
      local wait = math.max(refillAt - now, 1) + (ticks - 1) * 60000
      local estimated = redis.call('HEXISTS', KEYS[1], 'estimated') == 1
      if not estimated then return wait end
      if underWay > 0 then return math.min(wait, ${LOOK_AGAIN_MS}) end
    end
    if not background and free - cost >= reserve + ${ADVANCE * PLENTY_ADVANCES} then advance = ${ADVANCE} end
  end
  hold(id .. ':' .. (cost + advance), now + ${LEASE_MS})
  return -advance`;

const SETTLE = `${COMMON}
  -- The lease; what stays of it; and the lost call, if the outcome is 'lost'.
  local member, rest, lost = ARGV[2], ARGV[7], ARGV[8]
  local expiry = redis.call('ZSCORE', KEYS[2], member)
  -- An expired lease counts as spent already.
  local isOpen = release(member)
  if isOpen and rest ~= '' then hold(rest, expiry) end
  if ARGV[3] == 'lost' then
    if not isOpen then return end
    lose(lost)
    redis.call('ZADD', KEYS[4], expiry, lost)
    redis.call('PEXPIRE', KEYS[4], ${STATE_MS})
    return
  end
  if ARGV[4] == '' then
    if isOpen then spend(tonumber(ARGV[3])) end
    return
  end
  local stamp = tonumber(redis.call('HGET', KEYS[1], 'stamp') or '0')
  local read = tonumber(ARGV[6]) or stamp
  if read < stamp then return end
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
  local unsure = 0
  for _, other in ipairs(redis.call('ZRANGE', KEYS[4], 0, -1)) do unsure = unsure + costOf(other) end
  redis.call('HSET', KEYS[1], 'left', tonumber(ARGV[3]) - unsure, 'rate', ARGV[4], 'refillAt', now + tonumber(ARGV[5]),
    'stamp', read)
  if unsure == 0 then redis.call('HDEL', KEYS[1], 'estimated') else redis.call('HSET', KEYS[1], 'estimated', 1) end
  redis.call('PEXPIRE', KEYS[1], ${STATE_MS})`;

/** @param key of the bucket, with a hash tag; the leases are stored beside it. */
export function createTokenBucket(redis: Redis, key: string, clock: Clock): TokenBucket {
  redis.defineCommand('soukTakeTokens', { numberOfKeys: 4, lua: TAKE });
  redis.defineCommand('soukSettleTokens', { numberOfKeys: 4, lua: SETTLE });
  const scripts = redis as unknown as {
    soukTakeTokens(...args: (string | number)[]): Promise<number>;
    soukSettleTokens(...args: (string | number)[]): Promise<unknown>;
  };
  const keys = [key, `${key}:under-way`, `${key}:taken`, `${key}:lost`] as const;
  let lastId = 0;
  const processId = randomUUID();
  /** The lease with tokens for the next calls. */
  let current: SharedLease | null = null;
  const deps: SharedLeaseDeps = {
    clock,
    async settle(...values) {
      await scripts.soukSettleTokens(...keys, clock.now(), ...values);
    },
    onScarce: () => void current?.endAdvance(),
  };

  return {
    async take(cost, options) {
      const { deadlineAt, background } = options;
      const inAdvance = background ? undefined : current?.begin(cost);
      if (inAdvance) return inAdvance;
      lastId += 1;
      const id = `${processId}-${lastId}`;
      for (;;) {
        // A negative time is the number of tokens in advance.
        const waitMs = await scripts.soukTakeTokens(...keys, clock.now(), id, cost, background ? 1 : 0);
        if (waitMs <= 0) {
          const lease = new SharedLease(deps, id, cost - waitMs);
          if (waitMs < 0) {
            void current?.endAdvance();
            current = lease;
            lease.limitAdvance();
          }
          return lease.first(cost);
        }
        if (background) throw new TokensAwaited(waitMs);
        if (clock.now() + waitMs > deadlineAt) {
          throw new SoukError('BUSY', {
            message: 'Too few tokens of the data provider are left to answer this call in time.',
            retryAfterSeconds: Math.ceil(waitMs / 1000),
          });
        }
        await sleep(clock, waitMs, beforeSending(options), 'token refill');
      }
    },
    async close() {
      // While Redis is away, the advance counts as spent until the next reading.
      if (redis.status === 'ready') await current?.endAdvance();
    },
  };
}

/** Returns the current tokens, if known. */
export async function readTokens(
  redis: Redis,
  key: string,
  now: number,
): Promise<{ left: number; perMinute: number } | null> {
  const stored = await redis.hgetall(key);
  if (stored.left === undefined) return null;
  const [left, perMinute, refillAt] = [Number(stored.left), Number(stored.rate), Number(stored.refillAt)];
  if (now < refillAt) return { left, perMinute };
  const refills = 1 + Math.floor((now - refillAt) / 60_000);
  return { left: Math.min(left + refills * perMinute, perMinute * CAPACITY_MINUTES), perMinute };
}
