import { expect } from 'vitest';
import { WORKER_POOL_NAMES } from '../../src/operations/pools.ts';
import { redisContents } from '../../src/operator/redis-contents.ts';
import { createLogger } from '../../src/platform/log.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis.ts';
import { holdProducts, newAsin } from '../support/answers.ts';
import { batchOnce, callsOf, isFinished, learnTokens, resultsOf, startBatch } from '../support/batches.ts';
import { createTestDatabase } from '../support/database.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { createSchedule, ended, passHour, productsHourly, runsMade } from '../support/schedules.ts';
import { openSouk } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';
import { expectBalancedBooks, startStoreLoad } from '../support/store-load.ts';
import { unitsUsed } from '../support/units.ts';
import { webhookCustomer } from '../support/webhooks.ts';

const test = base
  .extend('cluster', { scope: 'file' }, async ({}, { onCleanup }) => {
    const cluster = await startRedisCluster();
    onCleanup(() => cluster.close());
    return cluster;
  })
  .extend('souk', { scope: 'file' }, async ({ cluster }, { onCleanup }) => {
    const database = await createTestDatabase();
    const servers = { databaseUrl: database.url, redisUrl: cluster.url };
    const souk = await openSouk({ gateways: 2, workers: 2, allowPrivateWebhooks: true, servers });
    onCleanup(async () => {
      await souk.close();
      await database.drop();
    });
    return souk;
  });

const pathOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

test('answers calls, whose keys are on all nodes', async ({ souk, client, cluster }) => {
  await learnTokens(souk);
  const asins = Array.from({ length: 20 }, newAsin);
  const fetched = await Promise.all(asins.map((asin) => client.get(pathOf(asin))));
  expect(fetched.map(({ status }) => status)).toEqual(asins.map(() => 200));
  const other = await souk.client({ gateway: 1 });
  const cached = await Promise.all(asins.map((asin) => other.get(pathOf(asin))));
  expect(cached.map(({ json }) => json.data.fromCache)).toEqual(asins.map(() => true));
  const sizes = await Promise.all(cluster.masters.map(({ redis }) => redis.dbsize()));
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});

test('each pool has a queue with a slot of its own', async ({ souk, cluster }) => {
  const listed = await Promise.all(cluster.masters.map(({ redis }) => redis.keys('*:meta')));
  const queues = listed.flat().filter((key) => key.startsWith(`{${souk.redisNamespace}-`));
  expect(new Set(queues.map((key) => key.split(':').at(-2)))).toEqual(new Set(WORKER_POOL_NAMES));
  const [node] = cluster.masters;
  if (!node) throw new Error('The cluster has masters.');
  const slots = await Promise.all(queues.map((key) => node.redis.cluster('KEYSLOT', key)));
  expect(new Set(slots).size).toBe(queues.length);
});

test('identical calls to two gateways share one request to the provider', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const release = holdProducts(upstream);
  const path = pathOf(newAsin());
  const awaited = souk.events.next('call.awaited', {}, 2);
  const replies = [client.get(path), souk.clientOf(account.key, 1).get(path)];
  await awaited;
  release();
  expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200]);
  expect(upstream.calls).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(1);
});

test('a polled job can be cancelled or read', async ({ client, upstream }) => {
  const release = holdProducts(upstream);
  const [read, cancelled] = await Promise.all(
    [newAsin(), newAsin()].map(
      async (asin) => (await client.get(`${pathOf(asin)}&async=1`)).json.data.links.self,
    ),
  );
  expect((await client.get(cancelled, { method: 'DELETE' })).status).toBeLessThan(300);
  release();
  const result = await client.get(`${read}/result?wait=30`);
  expect(result.status).toBe(200);
});

test('a batch ends, and its webhook is delivered', async ({ souk, receiver }) => {
  const { client } = await webhookCustomer(souk);
  const asins = Array.from({ length: 12 }, newAsin);
  const batch = await startBatch(client, { ...callsOf(asins), webhook: receiver.url });
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({ state: 'done' });
  expect(await resultsOf(client, batch)).toHaveLength(12);
  await expect
    .poll(() => {
      souk.clock.advance(1_000);
      return receiver.received.length;
    })
    .toBe(1);
});

test('a due schedule runs once', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  passHour(souk);
  const [run] = await runsMade(souk, client, schedule, 1);
  expect(await ended(souk, client, { batchId: run?.batchId ?? '' })).toMatchObject({ state: 'done' });
});

test('the contents of Redis are the sum of its nodes', async ({ souk, cluster, onTestFinished }) => {
  const redis = await connectRedis(cluster.url, 'serving', createLogger('silent'), { answerLimitMs: 30_000 });
  onTestFinished(() => closeRedis(redis));
  const { usedBytes, kinds } = await redisContents(redis, souk.redisNamespace);
  const infos = await Promise.all(cluster.masters.map((node) => node.redis.info('memory')));
  const used = infos.map((info) => Number(/^used_memory:(\d+)/m.exec(info)?.[1]));
  expect(usedBytes).toBeGreaterThan(Math.max(...used));
  expect(kinds.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Queues', 'Live workers']));
});

test("the end of a call goes to the node with its gateway's channel", async ({ souk, cluster, client }) => {
  const sum = async (name: string) => {
    const infos = await Promise.all(cluster.masters.map((node) => node.redis.cluster('INFO')));
    return infos.reduce((all, info) => all + Number(new RegExp(`${name}:(\\d+)`).exec(info)?.[1] ?? 0), 0);
  };
  const channels = await Promise.all(
    cluster.masters.map(({ redis }) => redis.call('PUBSUB', 'SHARDCHANNELS') as Promise<string[]>),
  );
  // Two gateways, and the pool batch of two workers.
  expect(channels.flat().filter((name) => name.startsWith(`${souk.redisNamespace}:jobs:`))).toHaveLength(4);
  const before = await sum('cluster_stats_messages_publish_sent');
  const calls = Array.from({ length: 10 }, () => client.get(pathOf(newAsin())));
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 200));
  expect(await sum('cluster_stats_messages_publish_sent')).toBe(before);
});

test('gateways receive the ends of calls after the slots of their channels have moved', async ({
  souk,
  cluster,
  account,
  upstream,
}) => {
  const channelsOf = async (node: (typeof cluster.masters)[number]) =>
    ((await node.redis.call('PUBSUB', 'SHARDCHANNELS')) as string[]).filter((name) =>
      name.startsWith(`${souk.redisNamespace}:jobs:`),
    );
  const before = await Promise.all(cluster.masters.map(channelsOf));
  for (const channel of before.flat()) await cluster.moveSlot(channel);
  const isMoved = async () => {
    const now = await Promise.all(cluster.masters.map(channelsOf));
    return (
      now.every((names, i) => names.every((name) => !before[i]?.includes(name))) && now.flat().length === 4
    );
  };
  await expect.poll(isMoved, { timeout: 30_000 }).toBe(true);
  const release = holdProducts(upstream);
  const path = pathOf(newAsin());
  const awaited = souk.events.next('call.awaited', {}, 2);
  const replies = [0, 1].map((gateway) => souk.clientOf(account.key, gateway).get(path));
  await awaited;
  release();
  // The clock stands still, so no call is looked up again.
  expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200]);
});

test('calls are answered while the slot of their queue moves to another node', async ({ souk, cluster }) => {
  const load = await startStoreLoad(souk);
  await load.answered(20);
  await cluster.moveSlot(`{${souk.redisNamespace}-market}`);
  await load.answered(50);
  await load.stop();
  expect([...load.statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  await expectBalancedBooks(souk);
});
