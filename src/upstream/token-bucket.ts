import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { type Clock, sleep } from '../platform/clock.ts';
import { SoukError } from '../platform/errors.ts';

/** The state of the operator's tokens, from an answer of the provider. */
export interface TokenReading {
  tokensLeft: number;
  /** Tokens a minute. */
  refillRate: number;
  /** Milliseconds until the next refill. */
  refillIn: number;
  /** Time on the provider's clock, Unix milliseconds; the latest reading wins. null: an estimate, which any reading replaces. */
  timestamp: number | null;
  /** Tokens that the call cost, if the answer contains them. */
  consumed?: number | undefined;
}

/** Tokens taken for a call in progress. */
export interface TokenLease {
  /** Ends the call with the reading of its answer, or with the tokens spent if the answer had none. */
  settle(outcome: TokenReading | { spent: number }): Promise<void>;
}

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
   *   wait; the signal's reason when it aborts.
   */
  take(
    cost: number,
    options: { signal: AbortSignal; deadlineAt: number; background: boolean },
  ): Promise<TokenLease>;
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

/** A lease that was not settled expires after this time. */
const LEASE_MS = 180_000;

/** Concurrent calls allowed before the first reading. */
const LEARNERS = 8;

/** The provider keeps unused tokens for an hour. */
const CAPACITY_MINUTES = 60;

/**
 * The bucket is a hash: left, rate, refillAt (Unix milliseconds of the next refill) and stamp (the provider's time of
 * the reading). A sorted set holds the leases as "id:cost" by expiry, so that the tokens of a dead worker return; a third
 * key holds the sum of their costs. Before the first reading a few concurrent calls are allowed: with only one, a slow
 * call would block all others, and pictures, whose answers have no reading, would be fetched one at a time.
 */
const COMMON = `
  local now = tonumber(ARGV[1])
  local function giveBack(member)
    if redis.call('ZREM', KEYS[2], member) == 1 then
      redis.call('DECRBY', KEYS[3], string.match(member, ':(%d+)$'))
    end
  end`;

const TAKE = `${COMMON}
  local id, cost, background = ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do giveBack(member) end
  local taken = tonumber(redis.call('GET', KEYS[3]) or '0')
  local state = redis.call('HMGET', KEYS[1], 'left', 'rate', 'refillAt')
  if not state[1] then
    if redis.call('ZCARD', KEYS[2]) >= ${LEARNERS} then return 100 end
  else
    local left, rate, refillAt = tonumber(state[1]), tonumber(state[2]), tonumber(state[3])
    if now >= refillAt then
      local ticks = 1 + math.floor((now - refillAt) / 60000)
      left = math.min(left + ticks * rate, rate * ${CAPACITY_MINUTES})
      refillAt = refillAt + ticks * 60000
      redis.call('HSET', KEYS[1], 'left', left, 'refillAt', refillAt)
    end
    local capacity = rate * ${CAPACITY_MINUTES}
    local reserve = capacity * ${RESERVED_SHARE}
    -- The provider lets any call begin while one token is left. In the background a call may not take from the reserve,
    -- unless it costs more than there ever is beside it; that one waits until the bucket is full.
    local needed = background and math.min(reserve + cost, capacity) or 1
    local free = left - taken
    if free < needed then
      local ticks = math.ceil((needed - free) / rate)
      return math.max(refillAt - now, 1) + (ticks - 1) * 60000
    end
  end
  redis.call('ZADD', KEYS[2], now + ${LEASE_MS}, id .. ':' .. cost)
  redis.call('INCRBY', KEYS[3], cost)
  redis.call('PEXPIRE', KEYS[2], ${LEASE_MS})
  redis.call('PEXPIRE', KEYS[3], ${LEASE_MS})
  return 0`;

const SETTLE = `${COMMON}
  giveBack(ARGV[2])
  if ARGV[4] == '' then
    if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HINCRBYFLOAT', KEYS[1], 'left', -tonumber(ARGV[3])) end
    return
  end
  local stamp = tonumber(redis.call('HGET', KEYS[1], 'stamp') or '0')
  local read = tonumber(ARGV[6]) or stamp
  if read < stamp then return end
  redis.call('HSET', KEYS[1], 'left', ARGV[3], 'rate', ARGV[4], 'refillAt', now + tonumber(ARGV[5]), 'stamp', read)
  redis.call('PEXPIRE', KEYS[1], 7200000)`;

/** @param key of the bucket, with a hash tag; the leases are stored beside it. */
export function createTokenBucket(redis: Redis, key: string, clock: Clock): TokenBucket {
  redis.defineCommand('soukTakeTokens', { numberOfKeys: 3, lua: TAKE });
  redis.defineCommand('soukSettleTokens', { numberOfKeys: 3, lua: SETTLE });
  const scripts = redis as unknown as {
    soukTakeTokens(...args: (string | number)[]): Promise<number>;
    soukSettleTokens(...args: (string | number)[]): Promise<unknown>;
  };
  const keys = [key, `${key}:under-way`, `${key}:taken`] as const;
  let lastId = 0;
  const processId = randomUUID();

  return {
    async take(cost, { signal, deadlineAt, background }) {
      lastId += 1;
      const id = `${processId}-${lastId}`;
      for (;;) {
        const waitMs = await scripts.soukTakeTokens(...keys, clock.now(), id, cost, background ? 1 : 0);
        if (waitMs === 0) break;
        if (background) throw new TokensAwaited(waitMs);
        if (clock.now() + waitMs > deadlineAt) {
          throw new SoukError('BUSY', {
            message: 'Too few tokens of the data provider are left to answer this call in time.',
            retryAfterSeconds: Math.ceil(waitMs / 1000),
          });
        }
        await sleep(clock, waitMs, signal, 'token refill');
      }
      return {
        async settle(outcome) {
          const values =
            'spent' in outcome
              ? [outcome.spent, '', '', '']
              : [outcome.tokensLeft, outcome.refillRate, outcome.refillIn, outcome.timestamp ?? ''];
          await scripts.soukSettleTokens(...keys, clock.now(), `${id}:${cost}`, ...values);
        },
      };
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
