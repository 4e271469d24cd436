import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { createReadiness } from '../../../src/api/endpoints/service.ts';
import { NO_LIMITS } from '../../../src/api/limits/limits.ts';
import { mcpSettings, readConfig } from '../../../src/config/config.ts';
import { openGateway, type RunningGateway } from '../../../src/gateway/open-gateway.ts';
import { openDatabase } from '../../../src/platform/db/pool.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis.ts';
import { openCache } from '../../../src/results/cache.ts';
import { TestClock } from '../../support/clock.ts';
import { createTestDatabase } from '../../support/database.ts';
import { parseExposition } from '../../support/exposition.ts';
import { openProxy, type StoreProxy } from '../../support/proxy.ts';

const clock = new TestClock();
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let postgres: StoreProxy;
let redis: StoreProxy;
let gateway: RunningGateway;
beforeAll(async () => {
  database = await createTestDatabase();
  [postgres, redis] = [await openProxy(database.url), await openProxy(inject('redisUrl'))];
  gateway = await openGateway(
    {
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      redisNamespace: `test-${randomBytes(6).toString('hex')}`,
      offPeak: { start: '19:00', end: '07:00', timezone: 'UTC' },
      providers: { products: 'p', trends: 't', reports: 'r' },
      links: {
        chartSiteUrl: 'https://charts.test',
        imageCdnUrl: 'https://images.test',
        testImageUrl: 'https://souk.test',
      },
      webhooks: { allowPrivate: false },
      limits: NO_LIMITS,
      mcp: mcpSettings(readConfig({})),
    },
    clock,
    createLogger('silent'),
  );
});
afterEach(async () => {
  await postgres.cut();
  for (const proxy of [postgres, redis]) await proxy.restore();
  await expect.poll(async () => (await ask('/readyz')).statusCode).toBe(200);
});
afterAll(async () => {
  await gateway.close();
  for (const proxy of [postgres, redis]) await proxy.close();
  await database.drop();
});

const ask = (url: string) => gateway.app.inject({ method: 'GET', url });

test('is ready with both stores', async () => {
  expect((await ask('/readyz')).json()).toEqual({ status: 'ready' });
});

test('answers many requests at the same time from one check', async () => {
  const own = openDatabase(database.url, createLogger('silent'));
  const connection = await connectRedis(redis.url, 'serving', createLogger('silent'));
  const cache = await openCache(undefined, connection, createLogger('silent'), { onError() {} });
  let checks = 0;
  own.on('acquire', () => {
    checks += 1;
  });
  const readiness = createReadiness({ database: own, redis: connection, cache, clock });
  const found = await Promise.all(Array.from({ length: 100 }, readiness));
  expect(new Set(found)).toEqual(new Set([{ hasDatabase: true, hasRedis: true, hasCache: true }]));
  expect(checks).toBe(1);
  await own.end();
  await closeRedis(connection);
});

test.each([
  ['PostgreSQL', ['postgresql'], () => [postgres]],
  ['Redis', ['redis'], () => [redis]],
  ['both stores', ['postgresql', 'redis'], () => [postgres, redis]],
])('is not ready, but alive, without %s, and names the missing store', async (_which, missing, proxies) => {
  for (const proxy of proxies()) await proxy.cut();
  await expect.poll(async () => (await ask('/readyz')).json()).toEqual({ status: 'not ready', missing });
  expect((await ask('/readyz')).statusCode).toBe(503);
  expect((await ask('/healthz')).json()).toEqual({ status: 'ok' });
});

test('reports a store that does not respond as missing after a time limit, even if the other store refuses connections', async () => {
  await redis.cut();
  await expect.poll(async () => (await ask('/readyz')).json().missing).toEqual(['redis']);
  postgres.disturb({ hold: 'both' });
  // The result of the check before is sent for a second.
  const untilBothMiss = async (): Promise<string[]> => {
    const { missing } = (await ask('/readyz')).json();
    return missing.length === 2 ? missing : untilBothMiss();
  };
  const found = untilBothMiss();
  await clock.until('store ping');
  clock.advance(3_000);
  expect(await found).toEqual(['postgresql', 'redis']);
});

test('omits the metrics of Redis while Redis is down', async () => {
  const scrape = async () => parseExposition((await ask('/metrics')).payload);
  await expect
    .poll(async () => (await scrape()).samples.map(({ name }) => name))
    .toContain('souk_queue_jobs');
  await redis.cut();
  await expect
    .poll(async () =>
      (await scrape()).samples.filter(({ name }) => /_(queue|workers|tokens_left)/.test(name)),
    )
    .toEqual([]);
  expect((await scrape()).sum('souk_http_requests_total', { route: '/metrics' })).toBeGreaterThan(0);
});
