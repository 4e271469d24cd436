import { expect, onTestFinished, test as plain } from 'vitest';
import type { CompletionMessage } from '../../jobs/end-call.ts';
import type { WorkerPoolName } from '../../src/operations/pools.ts';
import { databaseClock } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import { TokensAwaited } from '../../src/upstream/token-bucket.ts';
import type { Attempt } from '../../workers/executor.ts';
import {
  createLargeJobs,
  isLarge,
  openLargeThread,
  THREAD_STARTS_AFTER_MS,
} from '../../workers/large-jobs/large-jobs.ts';
import type { ThreadSetup } from '../../workers/large-jobs/messages.ts';
import { hasDeals, holdProducts, knowsEveryProduct } from '../support/answers.ts';
import { TestClock } from '../support/clock.ts';
import { asins } from '../support/parameters.ts';
import { gate } from '../support/scripted-upstream.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

test.override('soukOptions', { largeJobs: true, clock: databaseClock() });

plain.for([
  ['market.lightningdeal', { domain: 1 }, true],
  ['market.lightningdeal', { domain: 1, asin: 'B000000001' }, false],
  ['market.product', { asins: asins(11) }, true],
  ['market.product', { asins: asins(10) }, false],
  ['market.variations', { perPage: 1000 }, true],
  ['market.variations', { perPage: 5 }, false],
  ['market.category', { domain: 1 }, false],
  ['an operation of another version', {}, false],
  ['market.lightningdeal', null, false],
] as const)('knows whether a job of %s with %j is large', ([operation, input, expected]) => {
  expect(isLarge({ operation, input })).toBe(expected);
});

/** Deals with every kind of value, one of them an integer beyond 2^53. */
const DEALS = Array.from({ length: 300 }, (_, i) => ({
  asin: `B${String(i).padStart(9, '0')}`,
  dealState: 'AVAILABLE',
  dealPrice: i / 8,
  title: `Deal "${i}" \u00e9`,
  id: i === 7 ? '@' : i,
  isPrimeEligible: i % 2 === 0,
  list: [null, i],
}));
const LIST = JSON.stringify({
  tokensLeft: 10_000,
  refillIn: 1_000,
  refillRate: 300,
  tokensConsumed: 500,
  lightningDeals: DEALS,
});

test('a large job has the same answer and charge in a thread as alongside other jobs', async ({
  souk,
  client,
  upstream,
  openAnother,
}) => {
  const beside = await openAnother();
  const script = () => ({ raw: LIST.replace('"@"', '9223372036854775807') });
  for (const { upstream } of [souk, beside]) upstream.on('lightningdeal', script);
  const path = '/api/market/lightningdeal?domain=1';
  const other = await beside.client();
  const [inThread, inLoop] = [await client.get(path), await other.get(path)];
  expect(inThread.status).toBe(200);
  expect(inThread.text).toContain('"id":9223372036854775807');
  expect(inThread.text).toBe(inLoop.text);
  expect([await unitsUsed(client), await unitsUsed(other)]).toEqual([500, 500]);
  expect(upstream.calls).toHaveLength(1);
});

test('the events of a large job reach the sinks of the worker', async ({ souk, client }) => {
  const spent = souk.events.next('tokens.spent');
  const ended = souk.events.next('job.ended');
  await client.post('/api/market/product', { domain: 1, asins: asins(20) });
  expect(await spent).toMatchObject({ operation: 'market.product' });
  expect(await ended).toMatchObject({ pool: 'market', state: 'settled' });
});

test('shares the fetch of a product between large and small jobs', async ({ souk, client, upstream }) => {
  const release = holdProducts(upstream);
  const large = client.post('/api/market/product', { domain: 2, asins: asins(20) });
  await upstream.received(1, 'product');
  const followed = souk.events.next('source.followed');
  const small = client.get(`/api/market/product?domain=2&asins=${asins(20)[3]}`);
  await followed;
  release();
  expect([(await large).json.data.count, (await small).json.data.count]).toEqual([20, 1]);
  expect(upstream.calls).toHaveLength(1);
});

test('a large job that is cancelled sends nothing more', async ({ souk, client, upstream }) => {
  const release = holdProducts(upstream);
  // With offers, products are requested in five parts, four of them at the same time.
  const many = asins(100).join(',');
  const accepted = await client.get(`/api/market/product?domain=3&asins=${many}&offers=20&async=1`);
  const job: string = accepted.json.data.links.self;
  await upstream.received(4, 'product');
  const cancelled = souk.events.next('job.cancelled');
  await client.get(job, { method: 'DELETE' });
  await cancelled;
  release();
  expect((await client.get(`${job}?wait=30`)).json.data).toMatchObject({ state: 'done', unitsCharged: 80 });
  expect(upstream.callsTo('product')).toHaveLength(4);
});

test('a large job that is cancelled while its thread starts sends nothing', async ({ openAnother }) => {
  const souk = await openAnother({ largeJobs: true, clock: databaseClock() });
  const client = await souk.client();
  const accepted = await client.get(`/api/market/product?domain=4&asins=${asins(20).join(',')}&async=1`);
  const job: string = accepted.json.data.links.self;
  await expect.poll(async () => (await client.get(job)).json.data.state).toBe('running');
  await client.get(job, { method: 'DELETE' });
  expect((await client.get(`${job}?wait=30`)).json.data.state).toBe('cancelled');
  expect(souk.upstream.calls).toEqual([]);
  expect(await unitsUsed(client)).toBe(0);
});

test('a large job of a failing provider is refunded', async ({ client, upstream }) => {
  upstream.on('lightningdeal', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const reply = await client.get('/api/market/lightningdeal?domain=5');
  expect([reply.status, reply.json.code]).toEqual([502, 'UPSTREAM_ERROR']);
  expect(await unitsUsed(client)).toBe(0);
  upstream.on('lightningdeal', hasDeals([]));
  upstream.on('product', knowsEveryProduct);
});

/** Large jobs in a thread that does what a job says. */
function breakable(clock = new TestClock(), pools: readonly WorkerPoolName[] = ['market']) {
  const failed: { does: unknown; cause: Error }[] = [];
  let opened = 0;
  const large = createLargeJobs({} as ThreadSetup, {
    async fail({ data }, cause) {
      failed.push({ does: (data as { does: string }).does, cause });
      return { state: 'released' } as CompletionMessage;
    },
    pools,
    events: { emit() {} },
    onError: { postgresql() {}, cache() {} },
    clock,
    log: createLogger('silent'),
    openThread(setup, of, onMessage) {
      opened += 1;
      return openLargeThread(
        setup,
        of,
        onMessage,
        new URL('../support/breaking-thread.mjs', import.meta.url),
      );
    },
  });
  onTestFinished(() => large.close());
  /** Resolves with the end of the job, once it has started. */
  const start = (does: string, signal = new AbortController().signal) => {
    const started = gate();
    const attempt: Attempt = {
      pool: 'market',
      data: { does },
      number: 1,
      waitedMs: null,
      signal,
      onProgress: () => started.open(),
    };
    const ended = large.execute(attempt);
    ended.catch(() => {});
    return { started: started.reached, ended };
  };
  return { start, failed, close: large.close, threadsOpened: () => opened };
}

plain('a job that ends its thread fails alone, and the next job has a new thread', async () => {
  const { start, failed } = breakable();
  expect(await start('break').ended).toMatchObject({ state: 'released' });
  expect(failed).toMatchObject([{ does: 'break', cause: { cause: { message: 'no memory is left' } } }]);
  expect(await start('answer').ended).toHaveProperty('callId');
  expect(failed).toHaveLength(1);
});

plain(
  'a job alongside one that ends their thread runs again by itself, and only the other one fails',
  async () => {
    const { start, failed } = breakable();
    const other = start('again');
    await other.started;
    const [broken, again] = await Promise.all([start('break').ended, other.ended]);
    expect(broken).toMatchObject({ state: 'released' });
    expect(again).toHaveProperty('callId');
    expect(failed.map(({ does }) => does)).toEqual(['break']);
  },
);

plain('a job that blocks its thread for long fails', async () => {
  const clock = new TestClock();
  const { start, failed } = breakable(clock);
  const { started, ended } = start('hang');
  await started;
  clock.advance(30_000);
  expect(failed).toEqual([]);
  clock.advance(10_000);
  expect(await ended).toMatchObject({ state: 'released' });
  expect(failed).toMatchObject([{ does: 'hang' }]);
});

plain(
  'a job that waits for tokens, or that the process stops, fails like one alongside other jobs',
  async () => {
    const { start, failed } = breakable();
    await expect(start('tokens').ended).rejects.toEqual(new TokensAwaited(1234));
    const stopping = new AbortController();
    const { started, ended } = start('wait', stopping.signal);
    await started;
    stopping.abort('the worker stops');
    await expect(ended).rejects.toThrow('the worker stops');
    expect(failed).toEqual([]);
  },
);

plain(
  'a job that the process stops does not fail if its thread ends, and opens no other thread',
  async () => {
    const clock = new TestClock();
    const { start, failed, threadsOpened } = breakable(clock);
    const stopping = new AbortController();
    const { started, ended } = start('hang', stopping.signal);
    await started;
    stopping.abort('the worker stops');
    clock.advance(40_000);
    await expect(ended).rejects.toThrow('The thread of the job has ended.');
    expect([failed, threadsOpened()]).toEqual([[], 1]);
  },
);

plain('jobs that wait to run alone, and that the process stops meanwhile, open no thread', async () => {
  const { start, failed, threadsOpened } = breakable();
  const stopping = new AbortController();
  const waiting = [start('wait', stopping.signal), start('wait', stopping.signal)];
  for (const { started } of waiting) await started;
  const broken = start('break');
  await expect.poll(threadsOpened).toBe(2);
  stopping.abort('the worker stops');
  for (const { ended } of waiting) await expect(ended).rejects.toThrow('the worker stops');
  expect(await broken.ended).toMatchObject({ state: 'released' });
  expect([failed.map(({ does }) => does), threadsOpened()]).toEqual([['break'], 3]);
});

plain('the thread starts soon after the worker, and runs the first large job', async () => {
  const clock = new TestClock();
  const { start, threadsOpened } = breakable(clock);
  expect(threadsOpened()).toBe(0);
  clock.advance(THREAD_STARTS_AFTER_MS);
  expect(threadsOpened()).toBe(1);
  expect(await start('answer').ended).toHaveProperty('callId');
  expect(threadsOpened()).toBe(1);
});

plain('the thread of a worker whose pools have no large jobs does not start by itself', () => {
  const clock = new TestClock();
  const { threadsOpened } = breakable(clock, ['trends', 'batch', 'test']);
  clock.advance(THREAD_STARTS_AFTER_MS);
  expect(threadsOpened()).toBe(0);
});

plain('a worker that stops before its thread has started does not start it', async () => {
  const clock = new TestClock();
  const { close, threadsOpened } = breakable(clock);
  await close();
  clock.advance(THREAD_STARTS_AFTER_MS);
  expect(threadsOpened()).toBe(0);
});
