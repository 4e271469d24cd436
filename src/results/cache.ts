import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../platform/durations.ts';
import { parseJson, stringifyJson } from '../platform/json.ts';
import type { Logger } from '../platform/log.ts';
import { outageOf } from '../platform/outage.ts';
import { connectRedis, type Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import type { CacheErrorSink } from '../platform/telemetry/time-limits.ts';
import { type Compressed, compress, decompress } from './compression.ts';

/** The metadata of an answer. Times are Unix milliseconds. */
export interface AnswerMeta {
  /** Identifies an answer within its presentation. Versions sort by the age of the data. */
  version: string;
  contentType: string;
  /** Encoding of the stored body. Clients without gzip get it decompressed. */
  encoding: 'identity' | 'gzip';
  /** Bytes of the decompressed body. */
  size: number;
  /** Fetch time of the oldest part of the data. */
  fetchedAt: number;
  /** When the provider last updated the oldest part of the data, if it says so. */
  updatedAt?: number;
  /** The answer's field `fromCache`: whether its data came from the result cache. */
  fromCache: boolean;
  /** The price of a call with this answer. */
  units: number;
  /** Tokens that fetching its data cost, for this call or others. */
  tokens: number;
  /** The name of the file of a table. */
  fileName?: string;
  /** Outline of the data as JSON, for JSON bodies larger than `INLINE_LIMIT_BYTES`. */
  outline?: string;
}

/** An answer as stored. `body` is null if it is large and stored separately. */
export interface StoredAnswer {
  meta: AnswerMeta;
  body: Buffer | null;
}

/** Bodies up to this stored size are kept with their metadata. Gateways never parse larger ones. */
export const INLINE_LIMIT_BYTES = 65_536;

const TIME_DIGITS = 12;

export const VERSION_LENGTH = 20;

/** Creates a version: the fetch time in hex, so that versions sort by age, and a random part. */
export function newVersion(fetchedAt: number): string {
  // Node draws the random bits of many UUIDs in one step; a few bytes cost as much as all of them.
  const random = randomUUID().slice(TIME_DIGITS - VERSION_LENGTH);
  return fetchedAt.toString(16).padStart(TIME_DIGITS, '0') + random;
}

/** Layout: version (20 ASCII characters, which a Redis script reads), length of the metadata, metadata, body. */
export function encodeAnswer({ meta, body }: StoredAnswer): Buffer {
  const { version, ...rest } = meta;
  const json = Buffer.from(JSON.stringify({ ...rest, inline: body !== null }));
  const head = Buffer.alloc(VERSION_LENGTH + 4);
  head.write(version, 'latin1');
  head.writeUInt32BE(json.length, VERSION_LENGTH);
  return Buffer.concat(body ? [head, json, body] : [head, json]);
}

export function decodeAnswer(bytes: Buffer): StoredAnswer {
  const version = bytes.toString('latin1', 0, VERSION_LENGTH);
  const bodyAt = VERSION_LENGTH + 4 + bytes.readUInt32BE(VERSION_LENGTH);
  const { inline, ...meta } = JSON.parse(bytes.toString('utf8', VERSION_LENGTH + 4, bodyAt)) as Omit<
    AnswerMeta,
    'version'
  > & { inline: boolean };
  return { meta: { version, ...meta }, body: inline ? bytes.subarray(bodyAt) : null };
}

/** How long a caller may fetch the result of a job. */
export const POLL_LIFETIME_MS = DAY_MS;

/** How long a job is listed, and its state can be read. */
export const JOB_LIFETIME_MS = 7 * DAY_MS;

/** The counts of stored bytes are kept by the hour, so the oldest hour is counted in full. */
const COUNTED_HOURS = POLL_LIFETIME_MS / HOUR_MS;
const COUNTS_LIFETIME_MS = POLL_LIFETIME_MS + HOUR_MS;

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
  await redis.eval(ADD, 1, keys.storedBytes(accountId), bytes, COUNTS_LIFETIME_MS);
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
  const values = [bytes, limit, COUNTS_LIFETIME_MS, COUNTED_HOURS];
  return (await redis.eval(TAKE, 1, keys.directBytes(accountId), ...values)) === 1;
}

/** Returns the bytes of an account's stored answers that have not expired. Answers that expired within the last hour may be included. */
export async function storedBytes(redis: Redis, keys: RedisKeys, accountId: number): Promise<number> {
  return Number(await redis.eval(SUM, 1, keys.storedBytes(accountId), COUNTED_HOURS));
}

/** The Redis of what may be lost at any time: shared answers and sources, with the flights that fetch them. */
export interface Cache {
  redis: Redis;
  /** Whether it is a Redis of its own: the setting CACHE_REDIS_URL. */
  isOwn: boolean;
  /**
   * Runs a command of the cache. If the cache has a Redis of its own and the command fails, returns `otherwise`, so that
   * the caller fetches the data, or does not keep it. A failure on the common Redis is thrown, like that of any other command.
   */
  attempt<Value>(command: () => Promise<Value>, otherwise: Value): Promise<Value>;
}

/** Keeps cached data on the Redis of everything else. */
export function cacheOn(redis: Redis): Cache {
  return { redis, isOwn: false, attempt: (command) => command() };
}

/** A fault of the cache is logged at most this often. */
const LOG_EVERY_MS = MINUTE_MS;

/**
 * Connects to a Redis that holds only cached data, if there is one. It may be down, now and later.
 * @param common the Redis of everything else, which holds cached data otherwise.
 */
export async function openCache(
  url: string | undefined,
  common: Redis,
  log: Logger,
  { answerLimitMs, onError }: { answerLimitMs?: number | undefined; onError: CacheErrorSink },
): Promise<Cache> {
  if (url === undefined) return cacheOn(common);
  const redis = await connectRedis(url, 'serving', log, {
    ...(answerLimitMs !== undefined && { answerLimitMs }),
    isOptional: true,
  });
  let loggedAt = Number.NEGATIVE_INFINITY;
  return {
    redis,
    isOwn: true,
    async attempt(command, otherwise) {
      try {
        return await command();
      } catch (error) {
        onError(error);
        // Outages are logged by the connection.
        if (outageOf(error) === null && performance.now() - loggedAt > LOG_EVERY_MS) {
          loggedAt = performance.now();
          log.warn({ err: error }, 'a command of the cache failed');
        }
        return otherwise;
      }
    },
  };
}

/** How long an answer is served from memory after Redis was asked for it. */
export const HOT_MS = 1_000;

const MAX_BYTES = 32 * 2 ** 20;

/** About the size of an entry without its body. */
const ENTRY_BYTES = 1_024;

interface LookUp {
  found: Promise<StoredAnswer | null>;
  isShared: boolean;
}

/**
 * Keeps the small answers that several requests look up at the same time, so that Redis is asked for each once a second.
 * @param now milliseconds of a monotonic clock.
 */
export function createHotAnswers(
  lookUp: (id: string) => Promise<StoredAnswer | null>,
  now: () => number = () => performance.now(),
) {
  const hot = new LRUCache<string, StoredAnswer>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ body }) => ENTRY_BYTES + (body?.length ?? 0),
    ttl: HOT_MS,
    ttlResolution: 0,
    perf: { now },
  });
  const lookUps = new Map<string, LookUp>();

  async function findCold(id: string): Promise<StoredAnswer | null> {
    const start = now();
    const current: LookUp = { found: lookUp(id), isShared: false };
    lookUps.set(id, current);
    try {
      const found = await current.found;
      // The body is a part of what was read from the connection, which would stay in memory as a whole.
      if (found?.body && current.isShared)
        hot.set(id, { ...found, body: Buffer.from(found.body) }, { start });
      return found;
    } finally {
      lookUps.delete(id);
    }
  }

  return {
    /** Returns an answer that is in memory, or the promise of one. */
    find(id: string): StoredAnswer | Promise<StoredAnswer | null> {
      const known = hot.get(id);
      if (known) return known;
      const current = lookUps.get(id);
      if (!current) return findCold(id);
      current.isShared = true;
      return current.found;
    },
    /** Forgets an answer that was replaced. */
    forget: (id: string) => void hot.delete(id),
  };
}

export type HotAnswers = ReturnType<typeof createHotAnswers>;

/** The bytes of provider answers, by the values that were parsed from them. */
const answers = new WeakMap<object, Compressed>();

/** Remembers, as long as a value is used, the compressed answer of a provider that has no other data. */
export function noteAnswer(value: object, answer: Compressed): void {
  answers.set(value, answer);
}

/** Returns the compressed answer from which a value was parsed; null if it has other data, too, or was not compressed. */
function answerOf(value: unknown): Compressed | null {
  return typeof value === 'object' && value !== null ? (answers.get(value) ?? null) : null;
}

/** Remembers that a value was made from an answer which has no other data. @returns the value. */
export function madeFrom<Value extends object | null>(answer: object, value: Value): Value {
  const bytes = answerOf(answer);
  if (bytes && value !== null) noteAnswer(value, bytes);
  return value;
}

/** Raw data of one source, as upstream returned it. */
export interface StoredSource {
  /** Parsed JSON, or the bytes of a picture; null if upstream had no data. */
  value: unknown;
  /** Unix milliseconds. */
  fetchedAt: number;
  /** Tokens that fetching it cost. */
  tokens: number;
}

/** Returns the value of a source from an answer of the provider that has no other data. */
export type ReadAnswer = (answer: unknown) => unknown;

/** The kinds of content, by the number in the layout. An answer is the whole one of the provider, which has the value. */
const KINDS = [
  { form: 'bytes', encoding: 'identity' },
  { form: 'json', encoding: 'identity' },
  { form: 'json', encoding: 'br' },
  { form: 'answer', encoding: 'identity' },
  { form: 'answer', encoding: 'gzip' },
  { form: 'answer', encoding: 'br' },
] as const;

type Kind = (typeof KINDS)[number];

const KIND_AT = 8;

const TOKENS_AT = 9;

const HEAD_BYTES = 13;

/**
 * Layout: fetch time (8 bytes, a big-endian double, which a Redis script reads), kind (1 byte), tokens (4 bytes, a
 * big-endian float), content.
 * @param read reads the value from the provider's answer. If it is given, the compressed answer is stored as the provider sent it, if
 *   the value has one. `decodeSource` needs the same function.
 */
export async function encodeSource(
  { value, fetchedAt, tokens }: StoredSource,
  read?: ReadAnswer,
): Promise<Buffer> {
  const { form, encoding, bytes } = await contentOf(value, read);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeDoubleBE(fetchedAt);
  head.writeUInt8(
    KINDS.findIndex((kind) => kind.form === form && kind.encoding === encoding),
    KIND_AT,
  );
  head.writeFloatBE(tokens, TOKENS_AT);
  return Buffer.concat([head, bytes]);
}

async function contentOf(
  value: unknown,
  read?: ReadAnswer,
): Promise<{ form: Kind['form']; encoding: Kind['encoding']; bytes: Buffer }> {
  if (Buffer.isBuffer(value)) return { form: 'bytes', encoding: 'identity', bytes: value };
  const answer = read ? answerOf(value) : null;
  if (answer) return { form: 'answer', ...answer };
  return { form: 'json', ...(await compress(Buffer.from(stringifyJson(value)))) };
}

export async function decodeSource(stored: Buffer, read?: ReadAnswer): Promise<StoredSource> {
  const fetchedAt = stored.readDoubleBE();
  const kind = KINDS[stored.readUInt8(KIND_AT)];
  const tokens = stored.readFloatBE(TOKENS_AT);
  const bytes = stored.subarray(HEAD_BYTES);
  if (!kind) throw new Error('the stored source is of an unknown kind');
  if (kind.form === 'bytes') return { value: bytes, fetchedAt, tokens };
  const json = parseJson((await decompress({ encoding: kind.encoding, bytes })).toString());
  if (kind.form === 'json') return { value: json, fetchedAt, tokens };
  if (!read) throw new Error('the stored answer of a provider cannot be read');
  return { value: read(json) ?? null, fetchedAt, tokens };
}
