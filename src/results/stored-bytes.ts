import type { Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';

/** How long a caller may fetch the result of a job. */
export const POLL_LIFETIME_MS = 24 * 3_600_000;

const HOUR_MS = 3_600_000;

/** Counts by the hour of Redis's clock, because answers expire by that clock too. */
const ADD = `
  local hour = math.floor(redis.call('TIME')[1] / 3600)
  redis.call('HINCRBY', KEYS[1], hour, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

const SUM = `
  local oldest = math.floor(redis.call('TIME')[1] / 3600) - ARGV[1]
  local hours = redis.call('HGETALL', KEYS[1])
  local sum = 0
  for i = 1, #hours, 2 do
    if tonumber(hours[i]) < oldest then redis.call('HDEL', KEYS[1], hours[i])
    else sum = sum + hours[i + 1] end
  end
  return sum`;

/** Adds bytes that an account has stored for POLL_LIFETIME_MS. */
export async function addStoredBytes(
  redis: Redis,
  keys: RedisKeys,
  accountId: number,
  bytes: number,
): Promise<void> {
  await redis.eval(ADD, 1, keys.storedBytes(accountId), bytes, POLL_LIFETIME_MS + HOUR_MS);
}

const TAKE = `
  local hour = math.floor(redis.call('TIME')[1] / 3600)
  local hours = redis.call('HGETALL', KEYS[1])
  local sum = tonumber(ARGV[1])
  for i = 1, #hours, 2 do
    if tonumber(hours[i]) < hour - ARGV[4] then redis.call('HDEL', KEYS[1], hours[i])
    else sum = sum + hours[i + 1] end
  end
  if sum > tonumber(ARGV[2]) then return 0 end
  redis.call('HINCRBY', KEYS[1], hour, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return 1`;

/**
 * Takes room for an answer that no caller has asked to keep. Such answers are counted apart, so that they take no room from
 * batches and from calls that are made as jobs.
 * @returns whether there is room for it among those of the last POLL_LIFETIME_MS.
 */
export async function takeRoom(
  redis: Redis,
  keys: RedisKeys,
  accountId: number,
  bytes: number,
  limit: number,
): Promise<boolean> {
  const lifetimes = [POLL_LIFETIME_MS + HOUR_MS, POLL_LIFETIME_MS / HOUR_MS];
  return (await redis.eval(TAKE, 1, keys.directBytes(accountId), bytes, limit, ...lifetimes)) === 1;
}

/** Returns the bytes of an account's stored answers that have not expired. Answers that expired within the last hour may be included. */
export async function storedBytes(redis: Redis, keys: RedisKeys, accountId: number): Promise<number> {
  return Number(await redis.eval(SUM, 1, keys.storedBytes(accountId), POLL_LIFETIME_MS / HOUR_MS));
}
