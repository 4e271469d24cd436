import { expect } from 'vitest';
import { openQueues, type PoolQueue } from '../../jobs/queues.ts';
import { POOLS, type PoolName } from '../../src/operations/pools.ts';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { hasDeals, holdProducts, newAsin } from '../support/answers.ts';
import type { Client } from '../support/client.ts';
import { gate } from '../support/scripted-upstream.ts';
import { test as base } from '../support/souk-test.ts';
import { expectBalancedBooks } from '../support/store-load.ts';
import { unitsUsed } from '../support/units.ts';

const TOKEN = 'only-for-the-operator';

const test = base.extend('queues', { scope: 'file' }, ({ souk, redis }, { onCleanup }) => {
  const queues = openQueues(redis, redisKeys(souk.redisNamespace), createLogger('silent'));
  onCleanup(() => queues.close());
  return queues;
});
test.override('soukOptions', { operator: { adminToken: TOKEN } });

const pathOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

/** Accepts a job. @returns its path. */
async function accepted(client: Client, path = pathOf(newAsin())): Promise<string> {
  const { status, headers } = await client.get(`${path}&async=1`);
  expect(status).toBe(202);
  return headers.location ?? '';
}

const stateOf = async (client: Client, job: string) => (await client.get(`${job}?wait=30`)).json.data.state;

/** Lets the jobs of a queue wait while `run` runs. */
async function whilePaused(queue: PoolQueue, run: () => Promise<void>): Promise<void> {
  await queue.pause();
  try {
    await run();
  } finally {
    await queue.resume();
  }
}

test('a worker runs no more jobs of a pool at the same time than the pool has slots', async ({
  souk,
  upstream,
  onTestFinished,
}) => {
  const working = gate();
  onTestFinished(working.open);
  upstream.on('lightningdeal', async (...call) => {
    await working.reached;
    return hasDeals([])(...call);
  });
  const client = await souk.client();
  const jobs = await Promise.all(
    [1, 2, 3, 4].map((site) => accepted(client, `/api/market/lightningdeal?domain=${site}`)),
  );
  const count = async (state: string) => {
    const scraped = await souk
      .clientOf('')
      .raw('/metrics', { headers: { authorization: `Bearer ${TOKEN}` } });
    const line = new RegExp(`souk_queue_jobs\\{pool="lightning",state="${state}"\\} (\\d+)`);
    return Number(line.exec(scraped.text)?.[1]);
  };
  const slots = POOLS['lightning' satisfies PoolName].concurrency;
  await expect.poll(() => count('running')).toBe(slots);
  expect(await count('waiting')).toBe(jobs.length - slots);
  working.open();
  for (const job of jobs) expect(await stateOf(client, job)).toBe('done');
});

test('many jobs of an account do not delay another account', async ({ souk, queues, upstream }) => {
  const release = holdProducts(upstream);
  const [heavy, other] = [await souk.client(), await souk.client()];
  const asin = newAsin();
  const heavyJobs: string[] = [];
  let late = '';
  await whilePaused(queues.of('market'), async () => {
    for (let n = 0; n < 2 * POOLS.market.concurrency; n += 1) heavyJobs.push(await accepted(heavy));
    late = await accepted(other, pathOf(asin));
  });
  const first = await upstream.received(POOLS.market.concurrency);
  expect(first.map(({ params }) => params.asin)).toContain(asin);
  release();
  expect(await stateOf(other, late)).toBe('done');
  for (const job of heavyJobs) expect(await stateOf(heavy, job)).toBe('done');
});

test('waiting jobs show their positions in the queue, and are cancelled', async ({ souk, queues }) => {
  const client = await souk.client();
  const queue = queues.of('market');
  await whilePaused(queue, async () => {
    const jobs = [await accepted(client), await accepted(client)];
    const views = await Promise.all(jobs.map((job) => client.get(job)));
    expect(views.map(({ json }) => [json.data.state, json.data.position])).toEqual([
      ['queued', 0],
      ['queued', 1],
    ]);
    for (const job of jobs)
      expect((await client.get(job, { method: 'DELETE' })).json.data.state).toBe('cancelled');
    expect(await queue.getJobCountByTypes('wait', 'prioritized')).toBe(0);
  });
  expect(await unitsUsed(client)).toBe(0);
});

test('no unit is lost', ({ souk }) => expectBalancedBooks(souk));
