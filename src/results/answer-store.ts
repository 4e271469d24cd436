import type { Result } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { HOUR_MS, MINUTE_MS } from '../platform/durations.ts';
import type { Redis } from '../platform/redis.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import {
  type AnswerMeta,
  addStoredBytes,
  type Cache,
  createHotAnswers,
  decodeAnswer,
  encodeAnswer,
  type HotAnswers,
  INLINE_LIMIT_BYTES,
  POLL_LIFETIME_MS,
  type StoredAnswer,
  takeRoom,
  VERSION_LENGTH,
} from './cache.ts';

/** Stores the entry of a call's answer. @returns its bytes if a caller polls it, otherwise 0. */
const PUT_OWN = `
  local isKept = redis.call('EXISTS', KEYS[3]) == 1
  local lifetime = isKept and ARGV[4] or ARGV[3]
  if isKept and tonumber(ARGV[2]) > 0 then redis.call('PEXPIRE', KEYS[2], lifetime) end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', lifetime)
  return isKept and #ARGV[1] + ARGV[2] or 0`;

const PUT_SHARED = `
  local present = redis.call('GETRANGE', KEYS[1], 0, ${VERSION_LENGTH - 1})
  if present > string.sub(ARGV[1], 1, ${VERSION_LENGTH}) then return end
  if present ~= '' then
    local replaced = KEYS[1] .. ':' .. present
    redis.call('RENAME', KEYS[1], replaced)
    if redis.call('PTTL', replaced) < tonumber(ARGV[3]) then redis.call('PEXPIRE', replaced, ARGV[3]) end
  end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`;

const KEEP_SHARED = `
  local isNewest = redis.call('GETRANGE', KEYS[1], 0, ${VERSION_LENGTH - 1}) == ARGV[1]
  for _, key in ipairs({ isNewest and KEYS[1] or KEYS[2], KEYS[3] }) do
    if redis.call('PTTL', key) < tonumber(ARGV[2]) then redis.call('PEXPIRE', key, ARGV[2]) end
  end`;

const KEEP = `
  local wasKept = redis.call('EXISTS', KEYS[2]) == 1
  redis.call('SET', KEYS[2], 1, 'PX', ARGV[1])
  if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then return 0 end
  local body = KEYS[1] .. ':body:' .. redis.call('GETRANGE', KEYS[1], 0, ${VERSION_LENGTH - 1})
  redis.call('PEXPIRE', body, ARGV[1])
  return wasKept and 0 or redis.call('STRLEN', KEYS[1]) + redis.call('STRLEN', body)`;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    soukPutOwn(...args: (string | number | Buffer)[]): Result<number, Context>;
    soukKeep(...args: (string | number)[]): Result<number, Context>;
    soukPutShared(...args: (string | number | Buffer)[]): Result<unknown, Context>;
    soukKeepShared(...args: (string | number)[]): Result<unknown, Context>;
  }
}

/** An answer with its body. */
export interface Answer {
  meta: AnswerMeta;
  body: Buffer;
}

/**
 * The location of a call's answer, recorded with the call: its own answer, which may be partial, or a version of a shared
 * one.
 */
export type AnswerRef = string;

export const OWN_ANSWER: AnswerRef = 'own';

const PARTIAL = 'partial:';

/** @param unitsPaid what the account has paid for the answer, including the earlier calls that it continues. */
export function partialAnswerRef(unitsPaid: number): AnswerRef {
  return `${PARTIAL}${unitsPaid}`;
}

/** Returns what the account has paid for an answer if it is partial. */
export function unitsPaidOf(ref: AnswerRef | null): number | null {
  return ref?.startsWith(PARTIAL) ? Number(ref.slice(PARTIAL.length)) : null;
}

function isOwn(ref: AnswerRef): boolean {
  return ref === OWN_ANSWER || unitsPaidOf(ref) !== null;
}

export function sharedAnswerRef(presentationId: string, version: string): AnswerRef {
  return `${presentationId}:${version}`;
}

/** A call, and the account whose stored bytes include its answer. */
interface AnsweredCall {
  accountId: number;
  callId: string;
  /** True for a call of a batch, which collects the answer. */
  background?: boolean;
}

/**
 * Lifetime of the answer of a call that was answered directly, if the account has no room for it, and of the answer of a
 * batch's call. Requests may join the call for five minutes after its acceptance.
 */
const OWN_LIFETIME_MS = 15 * MINUTE_MS;

/** Calls receive a shared answer for this long, so it is kept longer than an answer of one call. */
const SHARED_FOR_MS = HOUR_MS;

/** How many shared answers a process remembers to have kept for accounts. */
const MAX_KNOWN_KEPT = 20_000;

/** The shortest time that a shared answer is kept after it is no longer fresh, for requests that join a call with that answer. */
const JOIN_MARGIN_MS = 6 * MINUTE_MS;

/** Size of the cache for large bodies, so that Redis sends a body once when several clients read it. */
const BODY_CACHE_BYTES = 128 * 1024 * 1024;

/** A decompressed body up to this size is loaded again for each client of a call that fetched it. */
const MEDIUM_BYTES = 1024 * 1024;

/** Returns how many bytes of answers of calls that were answered directly an account may have stored for POLL_LIFETIME_MS. */
type RoomOf = (accountId: number) => number;

/**
 * @param redis has the answers of calls, which their accounts may have paid for.
 * @param cache has the shared answers. One that is lost is fetched again.
 */
export function createAnswerStore(redis: Redis, keys: RedisKeys, cache: Cache, roomOf: RoomOf) {
  redis.defineCommand('soukPutOwn', { numberOfKeys: 3, lua: PUT_OWN });
  redis.defineCommand('soukKeep', { numberOfKeys: 2, lua: KEEP });
  cache.redis.defineCommand('soukPutShared', { numberOfKeys: 1, lua: PUT_SHARED });
  cache.redis.defineCommand('soukKeepShared', { numberOfKeys: 3, lua: KEEP_SHARED });
  const { hot, load, loadSharedBody } = createAnswerReader(redis, keys, cache);

  /**
   * Adds an answer that was stored for polling to the stored bytes of its account.
   * @param bytes the reply of a script: 0 if the answer was not stored for polling.
   */
  async function count(accountId: number, bytes: unknown): Promise<void> {
    if (Number(bytes) > 0) await addStoredBytes(redis, keys, accountId, Number(bytes));
  }

  const hasRoom = (accountId: number, bytes: number): Promise<boolean> =>
    takeRoom(redis, keys, accountId, bytes, roomOf(accountId));

  const store = {
    /** Returns the newest shared answer, or one that was the newest less than a second ago. A large body is left out; see `loadSharedBody`. */
    findShared: (presentationId: string) => hot.find(presentationId),
    load,
    loadSharedBody,
    ...createSharedWriter(keys, cache, hot, hasRoom),

    /**
     * Stores the answer of one call. It is kept for POLL_LIFETIME_MS if a caller polls it, or if the account has room for
     * answers that were sent directly; otherwise for a short time.
     */
    async putOwn({ accountId, callId, background = false }: AnsweredCall, answer: Answer): Promise<void> {
      const key = keys.callAnswer(callId);
      const { entry, large } = toStore(answer);
      const body = keys.body(key, answer.meta.version);
      const lifetimeMs = background ? OWN_LIFETIME_MS : POLL_LIFETIME_MS;
      const stored = setBody(redis, body, large, lifetimeMs);
      const lifetimes = [lifetimeMs, POLL_LIFETIME_MS];
      const put = redis.soukPutOwn(key, body, keys.keepAnswer(callId), entry, large.length, ...lifetimes);
      const [bytes] = await Promise.all([put, stored]);
      await count(accountId, bytes);
      if (background || Number(bytes) > 0 || (await hasRoom(accountId, entry.length + large.length))) return;
      await Promise.all([key, body].map((name) => redis.pexpire(name, OWN_LIFETIME_MS)));
    },

    /** Keeps the answer of a call longer, for a caller that polls. The answer may be stored later. */
    async keep({ accountId, callId }: AnsweredCall): Promise<void> {
      await count(
        accountId,
        await redis.soukKeep(keys.callAnswer(callId), keys.keepAnswer(callId), POLL_LIFETIME_MS),
      );
    },

    /** Does what `keep` does, for a call that may have a shared answer. A shared answer expires earlier, so it is copied. */
    async keepGiven(call: AnsweredCall, ref: AnswerRef | null): Promise<void> {
      await store.keep(call);
      if (ref === null || isOwn(ref)) return;
      const shared = await store.load(call.callId, ref);
      if (shared) await store.putOwn(call, shared);
    },
  };
  return store;
}

export type AnswerStore = ReturnType<typeof createAnswerStore>;

/** Stores shared answers. @param hasRoom takes room of an account for some bytes, and returns whether it had that room. */
function createSharedWriter(
  keys: RedisKeys,
  cache: Cache,
  hot: HotAnswers,
  hasRoom: (accountId: number, bytes: number) => Promise<boolean>,
) {
  const knownKept = new LRUCache<string, true>({ max: MAX_KNOWN_KEPT });

  async function keepForAccount(accountId: number, presentationId: string, { meta, body }: Answer) {
    const lifetimeMs = (await hasRoom(accountId, body.length)) ? POLL_LIFETIME_MS : OWN_LIFETIME_MS;
    const { version } = meta;
    const newest = keys.sharedAnswer(presentationId);
    const replaced = keys.replacedAnswer(presentationId, version);
    const places = [newest, replaced, keys.body(newest, version)];
    await cache.redis.soukKeepShared(...places, version, lifetimeMs + SHARED_FOR_MS);
  }

  return {
    /** Stores an answer as the shared one, unless a fresher one is stored. */
    async putShared(presentationId: string, answer: Answer, freshForMs: number): Promise<void> {
      const key = keys.sharedAnswer(presentationId);
      const { entry, large } = toStore(answer);
      const body = keys.body(key, answer.meta.version);
      const lifetimeMs = Math.ceil(freshForMs) + JOIN_MARGIN_MS;
      await cache.attempt(async () => {
        const stored = setBody(cache.redis, body, large, lifetimeMs);
        await Promise.all([cache.redis.soukPutShared(key, entry, lifetimeMs, JOIN_MARGIN_MS), stored]);
      }, null);
      hot.forget(presentationId);
    },

    /**
     * Keeps a shared answer as long as `putOwn` keeps an answer of a call's own, for an account that has paid for it. Does not
     * wait. Accounts share the bytes, and an account with many calls for one answer takes room for it once.
     */
    keepShared(accountId: number, presentationId: string, answer: Answer): void {
      const name = `${accountId}:${presentationId}:${answer.meta.version}`;
      if (knownKept.has(name)) return;
      knownKept.set(name, true);
      // The caller has its answer. It can be read as a job for about an hour without this.
      keepForAccount(accountId, presentationId, answer).catch(() => knownKept.delete(name));
    },
  };
}

/** Reads stored answers. */
function createAnswerReader(redis: Redis, keys: RedisKeys, cache: Cache) {
  const bodies = new LRUCache<string, Buffer, { from: Redis }>({
    maxSize: BODY_CACHE_BYTES,
    sizeCalculation: (body) => body.length,
    // A body never changes under its key, so concurrent requests share one fetch.
    fetchMethod: async (key, _stale, { context: { from } }) => (await from.getBuffer(key)) ?? undefined,
  });

  const hot = createHotAnswers((presentationId) =>
    cache.attempt(() => findAt(cache.redis, keys.sharedAnswer(presentationId)), null),
  );

  async function complete(from: Redis, key: string, found: StoredAnswer | null): Promise<Answer | null> {
    if (!found) return null;
    const { meta } = found;
    const body = found.body ?? (await loadBody(from, keys.body(key, meta.version), meta));
    return body ? { meta, body } : null;
  }

  /** Few clients read the answer of the same call, so keeping bodies of medium size would only displace others. */
  async function loadBody(from: Redis, key: string, { size, fromCache }: AnswerMeta): Promise<Buffer | null> {
    if (!fromCache && size <= MEDIUM_BYTES) return from.getBuffer(key);
    return (await bodies.fetch(key, { context: { from } })) ?? null;
  }

  async function loadOwn(callId: string): Promise<Answer | null> {
    const key = keys.callAnswer(callId);
    return complete(redis, key, await findAt(redis, key));
  }

  async function loadShared(presentationId: string, version: string): Promise<Answer | null> {
    const key = keys.sharedAnswer(presentationId);
    const newest = await findAt(cache.redis, key);
    const found =
      newest?.meta.version === version
        ? newest
        : await findAt(cache.redis, keys.replacedAnswer(presentationId, version));
    return complete(cache.redis, key, found);
  }

  return {
    hot,

    /** Returns the answer of a call, or null if it has expired. */
    async load(callId: string, ref: AnswerRef): Promise<Answer | null> {
      if (isOwn(ref)) return loadOwn(callId);
      const [presentationId = '', version = ''] = ref.split(':');
      const shared = await cache.attempt(() => loadShared(presentationId, version), null);
      // If the shared answer is lost, this call may have a copy, or an answer of its own.
      return shared ?? loadOwn(callId);
    },

    /** Returns the large body of an answer from `findShared`. */
    async loadSharedBody(presentationId: string, meta: AnswerMeta): Promise<Buffer | null> {
      const key = keys.body(keys.sharedAnswer(presentationId), meta.version);
      return (
        (await cache.attempt(() => bodies.fetch(key, { context: { from: cache.redis } }), undefined)) ?? null
      );
    },
  };
}

async function findAt(from: Redis, key: string): Promise<StoredAnswer | null> {
  const bytes = await from.getBuffer(key);
  return bytes ? decodeAnswer(bytes) : null;
}

function toStore({ meta, body }: Answer): { entry: Buffer; large: Buffer } {
  const inline = body.length <= INLINE_LIMIT_BYTES;
  return {
    entry: encodeAnswer({ meta, body: inline ? body : null }),
    large: inline ? Buffer.alloc(0) : body,
  };
}

/**
 * Stores the large body of an answer, if it has one. The command precedes that of its entry on the same connection. Redis copies the
 * arguments of a script several times, and those of this command not at all.
 */
async function setBody(redis: Redis, key: string, body: Buffer, lifetimeMs: number): Promise<void> {
  if (body.length > 0) await redis.set(key, body, 'PX', lifetimeMs);
}
