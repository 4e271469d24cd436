import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { everyProductWith, newAsin } from '../support/answers.ts';
import { learnTokens } from '../support/batches.ts';
import { startCacheRedis } from '../support/cache-redis.ts';
import type { Reply } from '../support/client.ts';
import { parseExposition } from '../support/exposition.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import type { Souk } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';
import { expectBalancedBooks, startStoreLoad } from '../support/store-load.ts';
import { unitsUsed } from '../support/units.ts';

const ADMIN_TOKEN = 'the-operator-of-the-cache';

/** A service with a Redis of its own for cached data. A slow machine must not look like a Redis that hangs, except where one does. */
const test = base
  .extend('cache', { scope: 'file' }, async ({}, { onCleanup }) => {
    const cache = await startCacheRedis();
    onCleanup(() => cache.close());
    return cache;
  })
  .override('soukOptions', ({ cache }) => ({
    gateways: 2,
    workers: 2,
    cacheRedisUrl: cache.url,
    operator: { adminToken: ADMIN_TOKEN },
  }));

const pathOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

/** Answers that the fastest compression leaves at some 30 KB. */
const sendsMuch = everyProductWith(() => ({ title: randomBytes(22_000).toString('base64') }));

const readiness = async (souk: Souk) => {
  const { status, json } = await souk.clientOf('').raw('/readyz');
  return { status, ...json };
};

const DEGRADED = { status: 'ready', degraded: ['cache'] };

async function cacheFailures({ gateways, workers }: Souk): Promise<number> {
  const texts = await Promise.all([...gateways, ...workers].map(({ registry }) => registry.metrics()));
  return texts.reduce((all, text) => all + parseExposition(text).sum('souk_cache_failures_total', {}), 0);
}

const keysOf = (all: readonly string[]) =>
  [...new Set(all.map((key) => key.split(':')[1] ?? ''))].toSorted((a, b) => a.localeCompare(b));

test('cached answers and sources are on the Redis of their own, and the answers of calls are not', async ({
  souk,
  cache,
  redis,
  client,
  upstream,
}) => {
  const path = pathOf(newAsin());
  const first = await client.get(path);
  const other = await souk.client({ gateway: 1 });
  const hit = await other.get(path);
  expect([first.headers['x-cache'], hit.headers['x-cache']]).toEqual(['MISS', 'HIT']);
  expect(upstream.calls).toHaveLength(1);
  const prefix = `${souk.redisNamespace}:`;
  expect(keysOf(await cache.redis.keys(`${prefix}*`))).toEqual(['answer', 'source']);
  expect(await redis.keys(`${prefix}source:*`)).toEqual([]);
  const own = await redis.keys(`${prefix}answer:*`);
  expect(own).toEqual([`${prefix}answer:{${first.headers['x-job-id']}}`]);
  expect(await readiness(souk)).toEqual({ status: 'ready' });
  const page = await souk
    .clientOf('')
    .raw('/admin/storage', { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
  expect(page.text).toMatch(/Redis of cached data uses [\d.]+ MiB of 4 MiB.*?Upstream data/s);
});

test('calls are answered and charged once while the Redis of the cache evicts their data', async ({
  souk,
  cache,
  client,
  upstream,
}) => {
  upstream.on('product', sendsMuch);
  const asins = Array.from({ length: 100 }, newAsin);
  const ask = async (from: typeof client) => {
    const replies: Reply[] = [];
    for (let i = 0; i < asins.length; i += 10)
      replies.push(...(await Promise.all(asins.slice(i, i + 10).map((asin) => from.get(pathOf(asin))))));
    return replies;
  };
  const fetched = await ask(client);
  expect(await cache.figure('evicted_keys')).toBeGreaterThan(0);
  const fetches = upstream.calls.length;
  const other = await souk.client({ gateway: 1 });
  const again = await ask(other);
  expect([...fetched, ...again].filter(({ status }) => status !== 200)).toEqual([]);
  expect(upstream.calls.length).toBeGreaterThan(fetches);
  // A call that joins one with an evicted answer has the answer of that call.
  const joined = await ask(client);
  expect(joined.map(({ text }) => text)).toEqual(fetched.map(({ text }) => text));
  expect(await Promise.all([client, other].map(unitsUsed))).toEqual([asins.length, asins.length]);
  await expectBalancedBooks(souk);
});

test('a call that joins another one gets the answer at no charge, even if it was evicted from the cache', async ({
  souk,
  cache,
  client,
}) => {
  const path = pathOf(newAsin());
  await (await souk.client()).get(path);
  const hit = await client.get(path);
  expect(hit.headers).toMatchObject({ 'x-cache': 'HIT', 'x-units-consumed': '1' });
  await cache.redis.flushall();
  const joined = await client.get(path);
  expect(joined.headers).toMatchObject({ 'x-deduplicated': 'true', 'x-units-consumed': '0' });
  expect(joined.json.data.products).toEqual(hit.json.data.products);
  expect(await unitsUsed(client)).toBe(1);
});

test('a result that a caller polls outlives the Redis of the cache', async ({ cache, client, upstream }) => {
  const { headers } = await client.get(`${pathOf(newAsin())}&async=1`);
  await client.get(`${headers.location}?wait=30`);
  await cache.redis.flushall();
  const fetches = upstream.calls.length;
  expect((await client.get(`${headers.location}/result`)).status).toBe(200);
  expect(upstream.calls).toHaveLength(fetches);
});

test('calls are answered while the Redis of the cache is killed under load, and use it when it is back', async ({
  souk,
  cache,
  client,
}) => {
  const cachedPath = pathOf(newAsin());
  await client.get(cachedPath);
  const load = await startStoreLoad(souk);
  await load.answered(20);
  cache.kill();
  await expect.poll(() => readiness(souk)).toEqual(DEGRADED);
  const withoutCache = await souk.client();
  const fetched = await withoutCache.get(cachedPath);
  expect([fetched.status, fetched.headers['x-cache']]).toEqual([200, 'MISS']);
  // The calls of another account cannot share it, and the same account joins its call.
  expect((await withoutCache.get(cachedPath)).headers['x-deduplicated']).toBe('true');
  await load.answered(50);
  expect(await cacheFailures(souk)).toBeGreaterThan(0);
  await cache.restart();
  await expect.poll(() => readiness(souk)).toEqual({ status: 'ready' });
  await load.answered(20);
  await load.stop();
  expect([...load.statuses.keys()]).toEqual([200]);
  const path = pathOf(newAsin());
  // Each process connects again by itself.
  await expect
    .poll(async () => {
      await (await souk.client()).get(path);
      return (await (await souk.client()).get(path)).headers['x-cache'];
    })
    .toBe('HIT');
  await expectBalancedBooks(souk);
});

test('calls are answered while the Redis of the cache hangs', async ({ cache, openAnother }) => {
  const souk = await openAnother({ cacheRedisUrl: cache.url, answerLimitMs: 300 });
  const path = pathOf(newAsin());
  expect((await (await souk.client()).get(path)).status).toBe(200);
  cache.freeze();
  try {
    const [one, other] = [await souk.client(), await souk.client()];
    const replies = await Promise.all([
      one.get(path),
      other.get(path),
      one.get(`${path}&dryRun=1`),
      one.get(`${path}&async=1`),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 202]);
    expect(await readiness(souk)).toEqual(DEGRADED);
    expect(await Promise.all([one, other].map(unitsUsed))).toEqual([1, 1]);
  } finally {
    cache.thaw();
  }
  await expect.poll(() => readiness(souk)).toEqual({ status: 'ready' });
  await expectBalancedBooks(souk);
});

test('the service starts without the Redis of the cache, and uses it when it is there', async ({
  openAnother,
  onTestFinished,
}) => {
  const cache = await startCacheRedis();
  onTestFinished(() => cache.close());
  cache.kill();
  const souk = await openAnother({ cacheRedisUrl: cache.url });
  expect((await (await souk.client()).get(pathOf(newAsin()))).status).toBe(200);
  expect(await readiness(souk)).toEqual(DEGRADED);
  await cache.restart();
  await expect.poll(() => readiness(souk)).toEqual({ status: 'ready' });
  await expect
    .poll(async () => {
      await (await souk.client()).get(pathOf(newAsin()));
      return cache.redis.dbsize();
    })
    .toBeGreaterThan(0);
});

test('a Redis Cluster keeps cached data, and calls are answered after one of its nodes has died', async ({
  openAnother,
  onTestFinished,
}) => {
  const cluster = await startRedisCluster();
  onTestFinished(() => cluster.close());
  const souk = await openAnother({ cacheRedisUrl: cluster.url, gateways: 2 });
  await learnTokens(souk);
  const asins = Array.from({ length: 20 }, newAsin);
  const ask = async (gateway: number) => {
    const client = await souk.client({ gateway });
    return Promise.all(asins.map((asin) => client.get(pathOf(asin))));
  };
  await ask(0);
  expect((await ask(1)).map(({ headers }) => headers['x-cache'])).toEqual(asins.map(() => 'HIT'));
  const sizes = await Promise.all(cluster.masters.map(({ redis }) => redis.dbsize()));
  expect(Math.min(...sizes)).toBeGreaterThan(0);
  process.kill(cluster.masters[0]?.server.pid ?? 0, 'SIGKILL');
  expect((await ask(0)).map(({ status }) => status)).toEqual(asins.map(() => 200));
  await expectBalancedBooks(souk);
});
