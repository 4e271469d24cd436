import { randomBytes, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, expect, inject, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/platform/durations.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import {
  type Answer,
  createAnswerStore,
  OWN_ANSWER,
  sharedAnswerRef,
} from '../../src/results/answer-store.ts';
import {
  cacheOn,
  INLINE_LIMIT_BYTES,
  newVersion,
  POLL_LIFETIME_MS,
  storedBytes,
} from '../../src/results/cache.ts';

const redis = new Redis(inject('redisUrl'));
const keys = redisKeys(`test-${randomUUID()}`);
const [WITHOUT_ROOM, WITH_ROOM] = [1, 2];
const ROOM_BYTES = 1_000_000;
const roomOf = (accountId: number) => (accountId === WITHOUT_ROOM ? 0 : ROOM_BYTES);
const store = createAnswerStore(redis, keys, cacheOn(redis), roomOf);
/** A second process, which shares only Redis. */
const other = redis.duplicate();
const elsewhere = createAnswerStore(other, keys, cacheOn(other), roomOf);
afterAll(() => {
  redis.disconnect();
  other.disconnect();
});

const NOW = Date.parse('2026-03-04T10:00:00Z');

function answerOf(text: string | Buffer, fetchedAt = NOW): Answer {
  const body = Buffer.from(text);
  const meta = {
    version: newVersion(fetchedAt),
    contentType: 'application/json; charset=utf-8',
    encoding: 'identity' as const,
    size: body.length,
    fetchedAt,
    fromCache: false,
    units: 3,
    tokens: 2,
  };
  return { meta, body };
}

const newId = () => randomBytes(16).toString('hex');
const large = (fill: string) => Buffer.alloc(INLINE_LIMIT_BYTES + 1, fill);

test('returns a stored answer unchanged with its metadata', async () => {
  const [id, answer] = [newId(), answerOf('{"a":1}')];
  await store.putShared(id, answer, HOUR_MS);
  expect(await elsewhere.findShared(id)).toEqual(answer);
  expect(await elsewhere.load(randomUUID(), sharedAnswerRef(id, answer.meta.version))).toEqual(answer);
});

test('returns nothing for an answer that was never stored', async () => {
  expect(await store.findShared(newId())).toBeNull();
  expect(await store.load(randomUUID(), OWN_ANSWER)).toBeNull();
  expect(await store.load(randomUUID(), sharedAnswerRef(newId(), newVersion(NOW)))).toBeNull();
});

test('keeps a replaced answer readable for the calls that received it', async () => {
  const id = newId();
  const [older, newer] = [answerOf('older', NOW), answerOf('newer', NOW + 1)];
  await store.putShared(id, older, HOUR_MS);
  await store.putShared(id, newer, HOUR_MS);
  expect((await store.findShared(id))?.body?.toString()).toBe('newer');
  const joined = await store.load(randomUUID(), sharedAnswerRef(id, older.meta.version));
  expect(joined?.body.toString()).toBe('older');
  // This is longer than the time in which an identical call can join.
  expect(await redis.pttl(keys.replacedAnswer(id, older.meta.version))).toBeGreaterThan(5 * MINUTE_MS);
});

test('does not replace a newer answer with an older one', async () => {
  const id = newId();
  await store.putShared(id, answerOf('newer', NOW + 1), HOUR_MS);
  await store.putShared(id, answerOf('older', NOW), HOUR_MS);
  expect((await store.findShared(id))?.body?.toString()).toBe('newer');
});

test('keeps the freshest of several answers that are stored concurrently', async () => {
  const id = newId();
  const answers = Array.from({ length: 20 }, (_, i) => answerOf(`fetched ${i}`, NOW + ((i * 7) % 20)));
  await Promise.all(answers.map((answer, i) => (i % 2 ? store : elsewhere).putShared(id, answer, HOUR_MS)));
  expect((await store.findShared(id))?.meta.fetchedAt).toBe(NOW + 19);
});

test('stores a large body separately, so that a look-up does not load it', async () => {
  const [id, answer] = [newId(), answerOf(large('x'))];
  await store.putShared(id, answer, HOUR_MS);
  const found = await elsewhere.findShared(id);
  expect(found).toEqual({ meta: answer.meta, body: null });
  expect(await redis.strlen(keys.sharedAnswer(id))).toBeLessThan(1_000);
  expect((await elsewhere.loadSharedBody(id, answer.meta))?.equals(answer.body)).toBe(true);
  const joined = await elsewhere.load(randomUUID(), sharedAnswerRef(id, answer.meta.version));
  expect(joined?.body.equals(answer.body)).toBe(true);
});

test('stores a body up to the limit together with its answer', async () => {
  const [id, answer] = [newId(), answerOf(Buffer.alloc(INLINE_LIMIT_BYTES, 'y'))];
  await store.putShared(id, answer, HOUR_MS);
  expect((await store.findShared(id))?.body?.equals(answer.body)).toBe(true);
});

test('keeps a replaced large answer readable', async () => {
  const id = newId();
  const [older, newer] = [answerOf(large('o'), NOW), answerOf(large('n'), NOW + 1)];
  await store.putShared(id, older, HOUR_MS);
  await store.putShared(id, newer, HOUR_MS);
  for (const { meta, body } of [older, newer]) {
    const joined = await elsewhere.load(randomUUID(), sharedAnswerRef(id, meta.version));
    expect(joined?.body.equals(body)).toBe(true);
  }
});

test('treats an answer whose large body is lost as lost', async () => {
  const [id, answer] = [newId(), answerOf(large('z'))];
  await store.putShared(id, answer, HOUR_MS);
  await redis.del(keys.body(keys.sharedAnswer(id), answer.meta.version));
  expect(await elsewhere.load(randomUUID(), sharedAnswerRef(id, answer.meta.version))).toBeNull();
  expect(await elsewhere.loadSharedBody(id, answer.meta)).toBeNull();
});

test('keeps a shared answer that is no longer fresh while requests can join a call that received it', async () => {
  const [id, answer] = [newId(), answerOf(large('t'))];
  await store.putShared(id, answer, 10 * MINUTE_MS);
  for (const key of [keys.sharedAnswer(id), keys.body(keys.sharedAnswer(id), answer.meta.version)]) {
    const lifetimeMs = await redis.pttl(key);
    expect(lifetimeMs).toBeGreaterThan(15 * MINUTE_MS);
    expect(lifetimeMs).toBeLessThanOrEqual(16 * MINUTE_MS);
  }
});

async function expectLifetime(owner: string, { meta }: Answer, expectedMs: number): Promise<void> {
  for (const key of [owner, keys.body(owner, meta.version)]) {
    const lifetimeMs = await redis.pttl(key);
    expect(lifetimeMs).toBeGreaterThan(expectedMs - MINUTE_MS);
    expect(lifetimeMs).toBeLessThanOrEqual(expectedMs);
  }
}

test.each([
  { who: 'a caller that waited', before: false, after: false, expectedMs: 15 * MINUTE_MS },
  { who: 'a client that requested a job', before: true, after: false, expectedMs: POLL_LIFETIME_MS },
  { who: 'a client that polls later', before: false, after: true, expectedMs: POLL_LIFETIME_MS },
])('without room, keeps the answer of a call long enough for $who', async ({ before, after, expectedMs }) => {
  const [callId, answer] = [randomUUID(), answerOf(large('k'))];
  if (before) await store.keep({ accountId: WITHOUT_ROOM, callId });
  await store.putOwn({ accountId: WITHOUT_ROOM, callId }, answer);
  if (after) await store.keep({ accountId: WITHOUT_ROOM, callId });
  await expectLifetime(keys.callAnswer(callId), answer, expectedMs);
  expect((await elsewhere.load(callId, OWN_ANSWER))?.body.equals(answer.body)).toBe(true);
});

test('keeps answers of calls for a day until the room of the account is taken, then for a short time', async () => {
  const accountId = WITH_ROOM;
  const [half, tooMuch] = [
    answerOf(Buffer.alloc(0.6 * ROOM_BYTES)),
    answerOf(Buffer.alloc(0.5 * ROOM_BYTES)),
  ];
  const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
  await store.putOwn({ accountId, callId: first }, half);
  await elsewhere.putOwn({ accountId, callId: second }, tooMuch);
  await expectLifetime(keys.callAnswer(first), half, POLL_LIFETIME_MS);
  await expectLifetime(keys.callAnswer(second), tooMuch, 15 * MINUTE_MS);
  const small = answerOf(large('s'));
  await store.putOwn({ accountId, callId: third }, small);
  await expectLifetime(keys.callAnswer(third), small, POLL_LIFETIME_MS);
  // They take no room from jobs and batches.
  expect(await storedBytes(redis, keys, accountId)).toBe(0);
});

test('keeps the answer of a call of a batch for a short time, and it takes no room', async () => {
  const [call, answer] = [{ accountId: 3, callId: randomUUID(), background: true }, answerOf(large('b'))];
  await store.putOwn(call, answer);
  await expectLifetime(keys.callAnswer(call.callId), answer, 15 * MINUTE_MS);
  expect(await redis.exists(keys.directBytes(3))).toBe(0);
});

test('keeps a shared answer for a day after the last call that can receive it, even if it is replaced', async () => {
  const [id, accountId] = [newId(), 4];
  const [older, newer] = [answerOf(large('o'), NOW), answerOf(large('n'), NOW + 1)];
  await store.putShared(id, older, HOUR_MS);
  const key = keys.sharedAnswer(id);
  for (const process of [store, store, elsewhere]) process.keepShared(accountId, id, older);
  const lifetimeMs = POLL_LIFETIME_MS + HOUR_MS;
  await expect.poll(() => redis.pttl(key)).toBeGreaterThan(lifetimeMs - MINUTE_MS);
  await expectLifetime(key, older, lifetimeMs);
  await expect
    .poll(async () => Object.values(await redis.hgetall(keys.directBytes(accountId))))
    .toEqual([String(2 * older.body.length)]);
  await store.putShared(id, newer, HOUR_MS);
  expect(await redis.pttl(keys.replacedAnswer(id, older.meta.version))).toBeGreaterThan(
    lifetimeMs - MINUTE_MS,
  );
  const read = await elsewhere.load(randomUUID(), sharedAnswerRef(id, older.meta.version));
  expect(read?.body.equals(older.body)).toBe(true);
});

test('keeps a replaced shared answer for a call that received it a moment ago', async () => {
  const [id, answer] = [newId(), answerOf(large('r'))];
  await store.putShared(id, answer, HOUR_MS);
  await store.putShared(id, answerOf('newer', NOW + 1), HOUR_MS);
  store.keepShared(4, id, answer);
  const replaced = keys.replacedAnswer(id, answer.meta.version);
  await expect.poll(() => redis.pttl(replaced)).toBeGreaterThan(POLL_LIFETIME_MS);
});

test('reads a lost shared answer from the copy of the call', async () => {
  const [id, callId, answer] = [newId(), randomUUID(), answerOf('copied')];
  await store.putOwn({ accountId: 1, callId }, answer);
  expect(await store.load(callId, sharedAnswerRef(id, newVersion(NOW)))).toEqual(answer);
  expect(await store.load(randomUUID(), sharedAnswerRef(id, newVersion(NOW)))).toBeNull();
});
