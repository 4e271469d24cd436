import { randomUUID } from 'node:crypto';
import type { Result } from 'ioredis';
import type { Clock } from '../platform/clock.ts';
import type { Redis } from '../platform/redis.ts';

/**
 * The tokens of one account at a provider, shared by all workers through Redis. A call takes its expected cost before it
 * is sent; every answer corrects the balance. An account that fails is set aside for a while.
 */
export interface TokenBucket {
  /**
   * Takes tokens if they are available now.
   * @param options.background leaves a reserve for interactive calls at any cost of this call.
   * @param options.evenIfSetAside takes tokens of an account that was set aside, too.
   */
  take(
    cost: number,
    options: { readonly background: boolean; evenIfSetAside: boolean },
  ): Promise<TokenLease | TokenWait>;
  /** Records an answer to a call that took no tokens. */
  record(outcome: TokenOutcome, health: AccountHealth | null): Promise<void>;
}

/** No tokens can be taken now. */
export interface TokenWait {
  waitMs: number;
  /** The account was set aside. `due`: this process is to ask the provider whether the account works again. */
  setAside: false | 'waiting' | 'due';
}

/** Tokens taken for a call in progress. */
export interface TokenLease {
  /** @param health what the answer says about the account; null: nothing. */
  settle(outcome: TokenOutcome, health?: AccountHealth | null): Promise<void>;
}

/** How an account answers: `refused` is its key, `limited` a 429, `works again` the answer of an account that was set aside. */
export type AccountHealth = 'well' | 'works again' | 'limited' | AccountFailure;

export const ACCOUNT_FAILURES = ['refused', 'failed', 'timeout'] as const;

export type AccountFailure = (typeof ACCOUNT_FAILURES)[number];

/**
 * How a call to the provider ended: with a reading, with the tokens spent if its answer had no reading, or `lost` if the call
 * was sent and has no answer, because it was aborted for example. The provider may take the tokens of a lost call.
 */
export type TokenOutcome = TokenReading | { spent: number } | 'lost';

/** The state of the operator's tokens, from an answer of the provider. */
export interface TokenReading {
  tokensLeft: number;
  /** Tokens a minute; null: as in the last reading. */
  refillRate: number | null;
  /** Milliseconds until the next refill. */
  refillIn: number;
  /** Time on the provider's clock, Unix milliseconds; the latest reading wins. null: an estimate, which any reading replaces. */
  timestamp: number | null;
  /** Tokens that the call cost, if the answer contains them. */
  consumed?: number | undefined;
}

/** After this time a call that waits for tokens asks the bucket again, because the reading of another call may have brought some. */
export const LONGEST_SLEEP_MS = 60_000;

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

/**
 * After this time, an unsettled lease counts as spent, and a lost call counts as ended by the provider. No call lasts so long: its
 * deadline is over before. If a process was stopped meanwhile, the provider has taken the tokens long before its lease is settled.
 */
const LEASE_MS = 180_000;

/** How long the state is kept after the last call. */
const STATE_MS = 7_200_000;

/** An account is set aside after this many failures in a row, or when its key is refused. */
const MOST_FAILURES = 3;

/** How long an account is set aside the first time. The time doubles each time, up to the longest. */
const SET_ASIDE_MS = 15_000;
const LONGEST_SET_ASIDE_MS = 600_000;

/** How long the one process that tries an account that was set aside has to record the outcome. */
const QUESTION_MS = 30_000;

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
 * in the same form: until they expire, a reading may not contain their tokens yet. The fifth, a hash, exists while the account
 * is not well: failures in a row, rounds (how often it was set aside), until (Unix milliseconds, while it is set aside),
 * asking (while a process asks whether it works again), reason, at.
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
  local function lose(member)
    spend(costOf(member))
    if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'estimated', 1) end
  end
  local function note(health)
    if health == '' then return end
    if health == 'well' then redis.call('DEL', KEYS[5]) return end
    if health == 'works again' then
      -- The next failure sets the account aside again, for longer.
      if redis.call('HDEL', KEYS[5], 'until', 'asking') > 0 then redis.call('HSET', KEYS[5], 'failures', ${MOST_FAILURES - 1}) end
      return
    end
    redis.call('HSET', KEYS[5], 'reason', health, 'at', now)
    redis.call('PEXPIRE', KEYS[5], ${STATE_MS})
    if health == 'limited' then return end
    local state = redis.call('HMGET', KEYS[5], 'until', 'asking')
    if tonumber(state[1] or '0') > now and not state[2] then return end
    if redis.call('HINCRBY', KEYS[5], 'failures', 1) < ${MOST_FAILURES} and health ~= 'refused' and not state[2] then return end
    local round = redis.call('HINCRBY', KEYS[5], 'rounds', 1)
    local rest = math.min(${SET_ASIDE_MS} * 2 ^ math.min(round - 1, 20), ${LONGEST_SET_ASIDE_MS})
    redis.call('HSET', KEYS[5], 'until', now + rest, 'failures', 0)
    redis.call('HDEL', KEYS[5], 'asking')
  end`;

const TAKE = `${COMMON}
  local id, cost, background = ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
  local resumes = ARGV[5] ~= '1' and tonumber(redis.call('HGET', KEYS[5], 'until') or '0') or 0
  if resumes > now then return {resumes - now, 1} end
  if resumes > 0 then
    redis.call('HSET', KEYS[5], 'until', now + ${QUESTION_MS}, 'asking', 1)
    return {${QUESTION_MS}, 2}
  end
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do
    release(member)
    lose(member)
  end
  local taken = tonumber(redis.call('GET', KEYS[3]) or '0')
  local underWay = redis.call('ZCARD', KEYS[2])
  if redis.call('EXISTS', KEYS[1]) == 0 then
    if underWay >= ${LEARNERS} then return {100, 0} end
  else
    local left, rate, refillAt = refill()
    local capacity = rate * ${CAPACITY_MINUTES}
    local reserve = capacity * ${RESERVED_SHARE}
    -- The provider lets any call begin while one token is left. In the background a call may not take from the reserve,
    -- unless it costs more than there ever is above the reserve; that one waits until the bucket is full.
    local needed = background and math.min(reserve + cost, capacity) or 1
    local free = left - taken
    if free < needed then
      local ticks = math.ceil((needed - free) / rate)
      local wait = math.max(refillAt - now, 1) + (ticks - 1) * 60000
      local estimated = redis.call('HEXISTS', KEYS[1], 'estimated') == 1
      if not estimated then return {wait, 0} end
      if underWay > 0 then return {math.min(wait, ${LOOK_AGAIN_MS}), 0} end
    end
  end
  redis.call('ZADD', KEYS[2], now + ${LEASE_MS}, id .. ':' .. cost)
  redis.call('INCRBY', KEYS[3], cost)
  redis.call('PEXPIRE', KEYS[2], ${STATE_MS})
  redis.call('PEXPIRE', KEYS[3], ${STATE_MS})
  return {0, 0}`;

const SETTLE = `${COMMON}
  note(ARGV[7])
  local member = ARGV[2]
  local expiry = redis.call('ZSCORE', KEYS[2], member)
  -- An expired lease counts as spent already.
  local isOpen = release(member)
  if ARGV[3] == 'lost' then
    if not isOpen then return end
    lose(member)
    redis.call('ZADD', KEYS[4], expiry, member)
    redis.call('PEXPIRE', KEYS[4], ${STATE_MS})
    return
  end
  if ARGV[5] == '' then
    if isOpen then spend(tonumber(ARGV[3])) end
    return
  end
  local stamp = tonumber(redis.call('HGET', KEYS[1], 'stamp') or '0')
  local read = tonumber(ARGV[6]) or stamp
  if read < stamp then return end
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
  local unsure = 0
  for _, other in ipairs(redis.call('ZRANGE', KEYS[4], 0, -1)) do unsure = unsure + costOf(other) end
  local rate = ARGV[4] ~= '' and ARGV[4] or redis.call('HGET', KEYS[1], 'rate') or 1
  redis.call('HSET', KEYS[1], 'left', tonumber(ARGV[3]) - unsure, 'rate', rate, 'refillAt', now + tonumber(ARGV[5]),
    'stamp', read)
  if unsure == 0 then redis.call('HDEL', KEYS[1], 'estimated') else redis.call('HSET', KEYS[1], 'estimated', 1) end
  redis.call('PEXPIRE', KEYS[1], ${STATE_MS})`;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    soukTakeTokens(...args: (string | number)[]): Result<[waitMs: number, setAside: 0 | 1 | 2], Context>;
    soukSettleTokens(...args: (string | number)[]): Result<unknown, Context>;
  }
}

/** @param key of the bucket, with a hash tag; all that is stored about the account has names with the same hash tag. */
export function createTokenBucket(redis: Redis, key: string, clock: Clock): TokenBucket {
  redis.defineCommand('soukTakeTokens', { numberOfKeys: 5, lua: TAKE });
  redis.defineCommand('soukSettleTokens', { numberOfKeys: 5, lua: SETTLE });
  const keys = [key, `${key}:under-way`, `${key}:taken`, `${key}:lost`, healthKey(key)] as const;
  let lastId = 0;
  const processId = randomUUID();

  async function settle(member: string, outcome: TokenOutcome, health: AccountHealth | null): Promise<void> {
    await redis.soukSettleTokens(...keys, clock.now(), member, ...valuesOf(outcome), health ?? '');
  }

  return {
    async take(cost, { background, evenIfSetAside }) {
      lastId += 1;
      const id = `${processId}-${lastId}`;
      const options = [background ? 1 : 0, evenIfSetAside ? 1 : 0];
      const [waitMs, setAside] = await redis.soukTakeTokens(...keys, clock.now(), id, cost, ...options);
      if (waitMs > 0) return { waitMs, setAside: ([false, 'waiting', 'due'] as const)[setAside] };
      let isSettled = false;
      return {
        async settle(outcome, health = null) {
          if (isSettled) return;
          isSettled = true;
          await settle(`${id}:${cost}`, outcome, health);
        },
      };
    },
    record: (outcome, health) => settle('', outcome, health),
  };
}

const healthKey = (key: string) => `${key}:health`;

function valuesOf(outcome: TokenOutcome): (string | number)[] {
  if (outcome === 'lost') return ['lost', '', '', ''];
  if ('spent' in outcome) return [outcome.spent, '', '', ''];
  const { tokensLeft, refillRate, refillIn, timestamp } = outcome;
  return [tokensLeft, refillRate ?? '', refillIn, timestamp ?? ''];
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

/** What is wrong with an account. */
export interface AccountTrouble {
  reason: AccountFailure | 'limited';
  /** Time of the last such answer. */
  at: Date;
  /** Until when the account is set aside; null if it is used. */
  until: Date | null;
}

/** Returns how many calls of an account are under way, and its trouble; null if it is well. */
export async function readAccountState(
  redis: Redis,
  key: string,
  now: number,
): Promise<{ underWay: number; trouble: AccountTrouble | null }> {
  const [underWay, { reason, at, until }] = await Promise.all([
    // Leases of workers that died stay until another call takes tokens.
    redis.zcount(`${key}:under-way`, `(${now}`, '+inf'),
    redis.hgetall(healthKey(key)),
  ]);
  if (!reason) return { underWay, trouble: null };
  const trouble = { reason: reason as AccountTrouble['reason'], at: new Date(Number(at)) };
  return { underWay, trouble: { ...trouble, until: until ? new Date(Number(until)) : null } };
}
