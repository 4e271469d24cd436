import { expect, onTestFinished } from 'vitest';
import { openQueues, type Queues } from '../../jobs/queues.ts';
import type { BatchView } from '../../src/batches/view.ts';
import { POOL_NAMES, POOLS, type PoolName } from '../../src/operations/pools.ts';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { hasDeals, holdProducts, newAsin } from '../support/answers.ts';
import { batchOnce, callsOf, isFinished, resultsOf, startBatch } from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import { gate } from '../support/scripted-upstream.ts';
import type { Souk, TestAccount } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';
import { expectBalancedBooks } from '../support/store-load.ts';
import { unitsUsed } from '../support/units.ts';

const SHARDS = 3;
const POOL = 'market';
const TOKEN = 'only-for-the-operator';

const test = base.extend('queues', { scope: 'file' }, ({ souk, redis }, { onCleanup }) => {
  const queues = openQueues(redis, redisKeys(souk.redisNamespace), createLogger('silent'), SHARDS);
  onCleanup(() => queues.close());
  return queues;
});
test.override('soukOptions', { gateways: 2, queueShards: SHARDS, operator: { adminToken: TOKEN } });

/** Sites for the accounts of each queue, so that no account shares a request to the provider with another. */
const SITES = [
  [1, 2, 3],
  [4, 5, 6],
  [8, 9, 10],
];

const pathOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

/** Creates an account in each queue. @returns them by the numbers of their queues. */
async function accountsByShard(souk: Souk): Promise<TestAccount[]> {
  const accounts: TestAccount[] = [];
  while (Object.keys(accounts).length < SHARDS) {
    const account = await souk.account();
    accounts[account.accountId % SHARDS] = account;
  }
  return accounts;
}

const clientsByShard = async (souk: Souk) =>
  (await accountsByShard(souk)).map(({ key }, shard) => souk.clientOf(key, shard % souk.gateways.length));

/** Accepts a job. @returns its path. */
async function accepted(client: Client, path = pathOf(newAsin())): Promise<string> {
  const { status, headers } = await client.get(`${path}&async=1`);
  expect(status).toBe(202);
  return headers.location ?? '';
}

/** Lets the jobs of a pool wait while `run` runs. */
async function whilePaused(queues: Queues, run: () => Promise<void>, pool: PoolName = POOL): Promise<void> {
  await Promise.all(queues.all(pool).map((queue) => queue.pause()));
  try {
    await run();
  } finally {
    await Promise.all(queues.all(pool).map((queue) => queue.resume()));
  }
}

const waiting = (queues: Queues) =>
  Promise.all(queues.all(POOL).map((queue) => queue.getJobCountByTypes('wait', 'prioritized')));

test('each account has a queue of its own among those of the pool, and all jobs run', async ({
  souk,
  queues,
}) => {
  const clients = await clientsByShard(souk);
  const jobs: string[] = [];
  await whilePaused(queues, async () => {
    for (const [shard, client] of clients.entries())
      for (let n = 0; n <= shard; n += 1) jobs.push(await accepted(client));
    expect(await waiting(queues)).toEqual([1, 2, 3]);
    expect(new Set(queues.all(POOL).map((queue) => queue.toKey('').replace(/}.*/, ''))).size).toBe(SHARDS);
  });
  const owner = (n: number) => clients[n < 1 ? 0 : n < 3 ? 1 : 2] as Client;
  const states = await Promise.all(
    jobs.map(async (job, n) => (await owner(n).get(`${job}?wait=30`)).json.data.state),
  );
  expect(new Set(states)).toEqual(new Set(['done']));
});

test('the queues of a pool share its places', async ({ souk }) => {
  const working = gate();
  onTestFinished(working.open);
  souk.upstream.on('lightningdeal', async (...call) => {
    await working.reached;
    return hasDeals([])(...call);
  });
  const clients = await clientsByShard(souk);
  const jobs = await Promise.all(
    clients.flatMap((client, shard) =>
      (SITES[shard] ?? []).map((site) => accepted(client, `/api/market/lightningdeal?domain=${site}`)),
    ),
  );
  await souk.upstream.received(2, 'lightningdeal');
  const running = async () => {
    const scraped = await souk
      .clientOf('')
      .raw('/metrics', { headers: { authorization: `Bearer ${TOKEN}` } });
    return /souk_queue_jobs\{pool="lightning",state="running"\} (\d+)/.exec(scraped.text)?.[1];
  };
  await expect.poll(running).toBe('2');
  expect(souk.upstream.callsTo('lightningdeal')).toHaveLength(2);
  working.open();
  for (const [n, job] of jobs.entries())
    expect((await clients[Math.floor(n / 3)]?.get(`${job}?wait=30`))?.json.data.state).toBe('done');
});

test('the same call of an account to two gateways is one job', async ({ souk, upstream }) => {
  const release = holdProducts(upstream);
  const account = await souk.account();
  const path = pathOf(newAsin());
  const awaited = souk.events.next('call.awaited', {}, 2);
  const replies = [0, 1].map((gateway) => souk.clientOf(account.key, gateway).get(path));
  await awaited;
  release();
  expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200]);
  expect(upstream.calls).toHaveLength(1);
  expect(await unitsUsed(souk.clientOf(account.key))).toBe(1);
});

test('many jobs of an account delay neither an account of the same queue nor one of another', async ({
  souk,
  queues,
  upstream,
}) => {
  const release = holdProducts(upstream);
  const [heavy, far] = await clientsByShard(souk);
  const [near] = await clientsByShard(souk);
  if (!heavy || !near || !far) throw new Error('Each queue has an account.');
  const [nearAsin, farAsin] = [newAsin(), newAsin()];
  const heavyJobs: string[] = [];
  const later: [Client, string][] = [];
  await whilePaused(queues, async () => {
    for (let n = 0; n < 2 * POOLS.market.concurrency; n += 1) heavyJobs.push(await accepted(heavy));
    later.push([near, await accepted(near, pathOf(nearAsin))]);
    later.push([far, await accepted(far, pathOf(farAsin))]);
  });
  const first = await upstream.received(POOLS.market.concurrency);
  expect(first.map(({ params }) => params.asin)).toEqual(expect.arrayContaining([nearAsin, farAsin]));
  expect(first).toHaveLength(POOLS.market.concurrency);
  release();
  for (const [client, job] of [...later, ...heavyJobs.map((job) => [heavy, job] as const)])
    expect((await client.get(`${job}?wait=30`)).json.data.state).toBe('done');
});

test('a waiting job is cancelled, and shows its place in its queue before', async ({ souk, queues }) => {
  const [, , client] = await clientsByShard(souk);
  if (!client) throw new Error('Each queue has an account.');
  await whilePaused(queues, async () => {
    const jobs = [await accepted(client), await accepted(client)];
    const views = await Promise.all(jobs.map((job) => client.get(job)));
    expect(views.map(({ json }) => [json.data.state, json.data.position])).toEqual([
      ['queued', 0],
      ['queued', 1],
    ]);
    for (const job of jobs)
      expect((await client.get(job, { method: 'DELETE' })).json.data.state).toBe('cancelled');
    expect(await waiting(queues)).toEqual([0, 0, 0]);
  });
  expect(await unitsUsed(client)).toBe(0);
});

test('a batch is done, and its calls are in the queue of its account', async ({ souk, queues }) => {
  const account = (await accountsByShard(souk))[1];
  const client = souk.clientOf(account?.key ?? '');
  let batch: BatchView | undefined;
  await whilePaused(queues, async () => {
    batch = await startBatch(client, callsOf([newAsin(), newAsin(), newAsin()]));
    await expect.poll(() => waiting(queues)).toEqual([0, 3, 0]);
  });
  if (!batch) throw new Error('The batch was not created.');
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({ state: 'done' });
  expect(await resultsOf(client, batch)).toHaveLength(3);
});

test('the console lists each queue, and the metrics add them up', async ({ souk, queues }) => {
  const clients = await clientsByShard(souk);
  const bearer = { authorization: `Bearer ${TOKEN}` };
  const ask = (path: string) => souk.clientOf('').raw(path, { headers: bearer });
  const board = JSON.parse((await ask('/admin/queues/api/queues')).text) as { queues: { name: string }[] };
  const names = board.queues.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['market', 'market-1', 'market-2', 'test-2', 'batch']));
  expect(names).toHaveLength(SHARDS * POOL_NAMES.length + 1);
  await whilePaused(queues, async () => {
    for (const client of clients) await accepted(client);
    expect((await ask('/metrics')).text).toContain('souk_queue_jobs{pool="market",state="waiting"} 3');
  });
});

test('no unit is lost', ({ souk }) => expectBalancedBooks(souk));
