import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { openQueues, type Queues } from '../../jobs/queues.ts';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { newAsin } from '../support/answers.ts';
import { learnTokens } from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import type { Souk, SoukOptions } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';
import { expectBalancedBooks } from '../support/store-load.ts';
import { stopWorkers } from '../support/workers.ts';

const test = base
  /** Opens processes of the same service with another number of queues. */
  .extend('withQueues', ({ ownSouk, openAnother }) => (queueShards: number, options?: SoukOptions) => {
    const { databaseUrl, redisUrl, redisNamespace, clock, upstream, providers } = ownSouk;
    const same = { servers: { databaseUrl, redisUrl }, redisNamespace, clock, providers };
    return openAnother({ ...same, upstreamUrl: upstream.url, queueShards, workers: 0, ...options });
  })
  .extend('queues', ({ ownSouk }, { onCleanup }) => {
    const redis = new Redis(ownSouk.redisUrl);
    const queues = openQueues(redis, redisKeys(ownSouk.redisNamespace), createLogger('silent'), 3);
    onCleanup(async () => {
      await queues.close();
      redis.disconnect();
    });
    return queues;
  });

const ACCOUNTS = 6;

/** Lets some accounts submit a job each, through the first gateway of each service in turn. @returns what reads them. */
async function submitted(souks: readonly Souk[]): Promise<(() => Promise<string>)[]> {
  const jobs: (() => Promise<string>)[] = [];
  for (let n = 0; n < ACCOUNTS; n += 1) {
    const account = await (souks[0] as Souk).account();
    for (const souk of souks) {
      const client = souk.clientOf(account.key);
      const job = await accepted(client);
      jobs.push(async () => (await client.get(`${job}?wait=30`)).json.data.state);
    }
  }
  return jobs;
}

async function accepted(client: Client): Promise<string> {
  const { headers } = await client.get(`/api/market/product?domain=1&asins=${newAsin()}&async=1`);
  return headers.location ?? '';
}

/** Lets jobs wait, although there is a worker. */
const pause = (queues: Queues) => Promise.all(queues.all('market').map((queue) => queue.pause()));
const resume = (queues: Queues) => Promise.all(queues.all('market').map((queue) => queue.resume()));

const counts = (queues: Queues) =>
  Promise.all(
    queues.all('market').map((queue) => queue.getJobCountByTypes('wait', 'prioritized', 'delayed', 'active')),
  );

test('a change from one queue to three and back loses no waiting job and runs none twice', async ({
  ownSouk: one,
  withQueues,
  queues,
}) => {
  await learnTokens(one);
  await pause(queues);
  const before = await submitted([one]);
  const three = await withQueues(3);
  const during = await submitted([one, three]);
  // The gateway with one queue has not learned of the others: its jobs are all in the first one.
  expect(await counts(queues)).toEqual([14, 2, 2]);

  // Neither number takes the jobs of the other for lost.
  const idle = await three.addWorker(['trends']);
  one.clock.advance(11_000);
  await idle.reconcile();
  expect(await counts(queues)).toEqual([14, 2, 2]);

  await stopWorkers(one);
  await three.addWorker();
  await resume(queues);
  const states = await Promise.all([...before, ...during].map((state) => state()));
  expect(states).toEqual(states.map(() => 'done'));

  await pause(queues);
  const after = await submitted([three]);
  expect(await counts(queues)).toEqual([2, 2, 2]);
  await stopWorkers(three);
  await one.addWorker();
  await resume(queues);
  const last = await Promise.all(after.map((state) => state()));
  expect(last).toEqual(last.map(() => 'done'));
  expect(one.upstream.callsTo('product')).toHaveLength(states.length + last.length);
  await expectBalancedBooks(one);
});

test('a gateway with another number of queues shows and cancels a waiting job', async ({
  ownSouk: one,
  withQueues,
  queues,
}) => {
  await pause(queues);
  const three = await withQueues(3);
  // Gateways learn the numbers of others every second.
  await one.gateways[0]?.sampleBacklog();
  for (const [mine, theirs] of [
    [one, three],
    [three, one],
  ] as const) {
    for (let n = 0; n < 3; n += 1) {
      const { key } = await one.account();
      const job = await accepted(mine.clientOf(key));
      const other = theirs.clientOf(key);
      expect((await other.get(job)).json.data).toMatchObject({ state: 'queued', position: 0 });
      expect((await other.get(job, { method: 'DELETE' })).json.data.state).toBe('cancelled');
    }
  }
  expect(await counts(queues)).toEqual([0, 0, 0]);
});

test('workers leave a queue that receives no more jobs once it is empty, and return when it does', async ({
  ownSouk: one,
  withQueues,
  queues,
}) => {
  await learnTokens(one);
  const three = await withQueues(3);
  const served = () => Promise.all(queues.all('market').map((queue) => queue.getWorkersCount()));
  await expect
    .poll(() => {
      one.clock.advance(3_000);
      return served();
    })
    .toEqual([1, 1, 1]);
  await Promise.all(three.gateways.splice(0).map((gateway) => gateway.close()));
  await expect
    .poll(() => {
      one.clock.advance(3_000);
      return served();
    })
    .toEqual([1, 0, 0]);

  const again = await withQueues(3);
  await one.gateways[0]?.sampleBacklog();
  const jobs = await submitted([again]);
  await expect
    .poll(() => {
      one.clock.advance(3_000);
      return counts(queues);
    })
    .toEqual([0, 0, 0]);
  expect(new Set(await Promise.all(jobs.map((state) => state())))).toEqual(new Set(['done']));
});

test('forgets a number of queues a week after its last report, but not while its queues have jobs', async ({
  ownSouk: one,
  queues,
}) => {
  await stopWorkers(one);
  const redis = new Redis(one.redisUrl);
  try {
    const key = redisKeys(one.redisNamespace).queueCounts;
    const [, third] = queues.all('market');
    const job = await third?.add('market.product', {} as never, { jobId: 'held' });
    await queues.refresh(one.clock.now());
    const own = openQueues(redis, redisKeys(one.redisNamespace), createLogger('silent'));
    const forget = async () => {
      await own.refresh(one.clock.now());
      await own.forgetUnused(one.clock.now());
      return redis.zrange(key, '0', '-1');
    };
    expect(await forget()).toEqual(['1', '3']);
    one.clock.advance(8 * 86_400_000);
    expect((await forget()).toSorted()).toEqual(['1', '3']);
    await job?.remove();
    expect(await forget()).toEqual(['1']);
    await own.close();
  } finally {
    redis.disconnect();
  }
});
