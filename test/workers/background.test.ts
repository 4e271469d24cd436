import { afterEach, expect } from 'vitest';
import { openQueues } from '../../jobs/queues.ts';
import { POOLS } from '../../src/operations/pools.ts';
import { createLogger } from '../../src/platform/log.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { knowsEveryProduct, newAsin } from '../support/answers.ts';
import { type Background, openBackground } from '../support/background.ts';
import { batchOnce, isFinished, startBatch } from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import { PLENTY, type Script } from '../support/scripted-upstream.ts';
import type { Souk, TestAccount } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { advanceUntil } from '../support/time.ts';
import { unitsUsed } from '../support/units.ts';
import { openCalls, stopWorkers } from '../support/workers.ts';

let souk: Souk;
let background: Background;
/** The owner of the batch. */
let account: TestAccount;
let client: Client;
/** Another account, which sends interactive requests. */
let other: Client;
test.beforeEach(async ({ ownSouk }) => {
  souk = ownSouk;
  background = await openBackground(souk);
  account = await souk.account();
  client = souk.clientOf(account.key);
  other = await souk.client();
});
afterEach(() => background.close());

const pathOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;
const asksFor = (asin: string) => souk.upstream.calls.filter(({ params }) => params.asin === asin);
const stateOf = async (callId: string) => (await client.get(`/api/jobs/${callId}`)).json.data.state;

/** Ten tokens a minute: an hour brings 600, of which 60 are the reserve. */
function has(tokensLeft: number, refillIn = 30_000): Script {
  return async (call, response) => {
    const { json } = (await knowsEveryProduct(call, response)) as { json: object };
    const timestamp = souk.upstream.calls.length;
    return { json: { ...json, ...PLENTY, refillRate: 10, timestamp, tokensLeft, refillIn } };
  };
}

/** Gives the workers a token reading, which all further answers repeat. */
async function learn(...tokens: Parameters<typeof has>): Promise<void> {
  souk.upstream.on('product', has(...tokens));
  expect((await other.get(pathOf(newAsin()))).status).toBe(200);
  souk.upstream.calls.length = 0;
}

/** Queues a call in the background, for which there are no tokens, and waits until it was begun. */
async function paused(asin: string, options?: { patienceMs: number }): Promise<string> {
  const callId = await background.submit(account, { domain: '1', asins: asin }, options);
  await souk.events.until('job.paused', { callId });
  return callId;
}

/** Moves time to the end of each pause for tokens, until a condition holds. */
async function passPauses(hasHappened: () => boolean): Promise<void> {
  const pauses = () => souk.events.seen('job.paused').length;
  for (let passed = 0; !hasHappened(); passed = pauses()) {
    await expect.poll(() => hasHappened() || pauses() > passed, { interval: 10 }).toBe(true);
    souk.clock.advanceTo('token pause');
  }
}

test('runs and charges a background call while tokens exceed the reserve', async () => {
  await learn(600);
  const callId = await background.submit(account, { domain: '1', asins: newAsin() });
  const job = (await client.get(`/api/jobs/${callId}?wait=30`)).json.data;
  expect(job).toMatchObject({ state: 'done', unitsCharged: 1 });
  expect((await client.get(`/api/jobs/${callId}/result`)).json.data.count).toBe(1);
});

test('keeps the token reserve for interactive calls', async () => {
  await learn(60);
  const [asin, another] = [newAsin(), newAsin()];
  const callId = await paused(asin);
  expect((await other.get(pathOf(another))).status).toBe(200);
  expect(asksFor(asin)).toEqual([]);
  expect(await stateOf(callId)).toBe('running');
  await passPauses(() => asksFor(asin).length === 1);
  expect((await client.get(`/api/jobs/${callId}?wait=30`)).json.data.state).toBe('done');
});

test('lets another call fetch the source of a paused call, once for both', async () => {
  await learn(60);
  const asin = newAsin();
  const callId = await paused(asin);
  const reply = await other.get(pathOf(asin));
  expect([reply.status, reply.headers['x-cache']]).toEqual([200, 'MISS']);
  let state = 'running';
  await advanceUntil(
    souk.clock,
    () => {
      void stateOf(callId).then((now) => {
        state = now;
      });
      return state === 'done';
    },
    1_000,
  );
  expect(asksFor(asin)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(1);
});

test.each([
  ['an ordinary call', {}],
  ['a call with update=0', { update: '0' }],
])('keeps the fetched part of %s while it waits for tokens for the rest', async (_what, options) => {
  // Twenty ASINs a request, of which there are tokens for two above the reserve.
  await learn(600);
  const asins = Array.from({ length: 60 }, newAsin);
  souk.upstream.on('product', has(300));
  const sent = { domain: '1', asins: asins.join(','), offers: '20', ...options };
  const callId = await background.submit(account, sent);
  await souk.upstream.received(2);
  await expect.poll(async () => (await client.get(`/api/jobs/${callId}`)).json.data.progress).toBe(66);
  souk.upstream.on('product', has(600));
  await passPauses(() => souk.upstream.calls.length === 3);
  const job = (await client.get(`/api/jobs/${callId}?wait=30`)).json.data;
  expect(job).toMatchObject({ state: 'done', unitsCharged: 60 });
  const asked = souk.upstream.calls.flatMap(({ params }) => params.asin?.split(',') ?? []);
  expect(asked.sort()).toEqual(asins.sort());
  const { data } = (await client.get(`/api/jobs/${callId}/result`)).json;
  expect([data.count, data.fromCache]).toEqual([60, false]);
});

test('keeps the fetched part of a call with update=0 that returns to its queue', async ({
  onTestFinished,
}) => {
  await learn(60);
  // They take all slots of jobs that may be paused.
  const others = Array.from({ length: POOLS.market.concurrency / 2 }, newAsin);
  for (const asin of others) await paused(asin);
  await learn(600);
  souk.upstream.on('product', has(300));
  const asins = Array.from({ length: 60 }, newAsin);
  const sent = { domain: '1', asins: asins.join(','), offers: '20', update: '0' };
  const callId = await background.submit(account, sent);
  const pulling = await connectRedis(souk.redisUrl, 'pulling', createLogger('silent'));
  const queues = openQueues(pulling, redisKeys(souk.redisNamespace), createLogger('silent'));
  onTestFinished(async () => {
    await queues.close();
    await closeRedis(pulling);
  });
  const jobOf = () => queues.of('market').getJob(callId);
  await expect.poll(async () => (await jobOf())?.isDelayed()).toBe(true);
  souk.upstream.on('product', has(600));
  expect((await other.get(pathOf(newAsin()))).status).toBe(200);
  await (await jobOf())?.promote();
  const job = (await client.get(`/api/jobs/${callId}?wait=30`)).json.data;
  expect(job).toMatchObject({ state: 'done', unitsCharged: 60 });
  const asked = souk.upstream.calls.flatMap(({ params }) => params.asin?.split(',') ?? []);
  expect(asked.filter((asin) => asins.includes(asin)).sort()).toEqual(asins.sort());
});

test('runs a paused call within a minute after another call received more tokens', async () => {
  await learn(60, 600_000);
  const asin = newAsin();
  const callId = await paused(asin);
  souk.upstream.on('product', has(600));
  expect((await other.get(pathOf(newAsin()))).status).toBe(200);
  souk.clock.advance(60_000);
  await expect.poll(() => asksFor(asin).length).toBe(1);
  expect((await client.get(`/api/jobs/${callId}?wait=30`)).json.data.state).toBe('done');
});

test('takes tokens from the reserve when a request joins a paused call', async () => {
  await learn(60);
  const asin = newAsin();
  const callId = await paused(asin);
  const joining = await client.get(pathOf(asin));
  expect(joining.status).toBe(200);
  expect(joining.headers).toMatchObject({ 'x-deduplicated': 'true', 'x-job-id': callId });
  expect(asksFor(asin)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(1);
});

test('promotes a queued background call and gives it the reserve when a request joins it', async () => {
  await learn(60);
  await stopWorkers(souk);
  const [first, second] = [newAsin(), newAsin()];
  await background.submit(account, { domain: '1', asins: first });
  const callId = await background.submit(account, { domain: '1', asins: second });
  expect((await client.get(`/api/jobs/${callId}`)).json.data.position).toBe(1);
  const awaited = souk.events.next('call.awaited');
  const joining = client.get(pathOf(second));
  await awaited;
  await expect
    .poll(async () => (await client.get(`/api/jobs/${callId}`)).json.data)
    .toMatchObject({ state: 'queued', position: 0 });
  await souk.addWorker();
  expect((await joining).headers).toMatchObject({ 'x-deduplicated': 'true', 'x-job-id': callId });
  expect(asksFor(first)).toEqual([]);
  // The other call continues when tokens are available.
  await passPauses(() => asksFor(first).length === 1);
  await expect.poll(() => openCalls(souk)).toBe(0);
});

test('runs interactive calls immediately while forty background calls wait for tokens', async () => {
  await learn(60, 300);
  const asins = Array.from({ length: 40 }, newAsin);
  const callIds = await Promise.all(
    asins.map((asin) => background.submit(account, { domain: '1', asins: asin })),
  );
  const states = () => Promise.all(callIds.map(stateOf));
  // A worker process runs 32 jobs of this pool at a time.
  // Half of them are paused; the others return to the queue.
  await expect
    .poll(async () => (await states()).filter((state) => state === 'running').length)
    .toBeGreaterThanOrEqual(16);
  for (let i = 0; i < 20; i += 1) expect((await other.get(pathOf(newAsin()))).status).toBe(200);
  let queued = -1;
  await expect
    .poll(async () => {
      queued = (await states()).indexOf('queued');
      return queued;
    })
    .toBeGreaterThanOrEqual(0);
  const joining = await client.get(pathOf(asins[queued] ?? ''));
  expect(joining.headers).toMatchObject({ 'x-deduplicated': 'true', 'x-job-id': callIds[queued] });
  souk.upstream.on('product', has(600));
  expect((await other.get(pathOf(newAsin()))).status).toBe(200);
  await expect
    .poll(
      () => {
        souk.clock.advance(300);
        return openCalls(souk);
      },
      { timeout: 20_000 },
    )
    .toBe(0);
  expect(await unitsUsed(client)).toBe(40);
  for (const asin of asins) expect(asksFor(asin)).toHaveLength(1);
});

test('sends nothing upstream for a call cancelled while it waits for tokens', async () => {
  await learn(60);
  const asin = newAsin();
  const callId = await paused(asin);
  const ended = souk.events.next('job.ended', { callId });
  await client.get(`/api/jobs/${callId}`, { method: 'DELETE' });
  expect(await ended).toMatchObject({ error: 'CANCELLED' });
  souk.clock.advance(600_000);
  expect((await client.get(`/api/jobs/${callId}`)).json.data.state).toBe('cancelled');
  expect(asksFor(asin)).toEqual([]);
  expect(await unitsUsed(client)).toBe(0);
});

test('a batch makes a new call if the call it joined is cancelled', async () => {
  await learn(60);
  const asin = newAsin();
  const twins = { operation: 'market.product', items: [{ domain: 1, asin }] };
  const first = await startBatch(client, twins);
  await advanceUntil(souk.clock, () => souk.events.seen('job.paused').length === 1, 10);
  const second = await startBatch(client, twins);
  await advanceUntil(souk.clock, () => souk.events.seen('call.joined').length === 1, 10);
  await client.get(`/api/batches/${first.batchId}`, { method: 'DELETE' });
  expect(await batchOnce(souk, client, first, isFinished, 100)).toMatchObject({ counts: { cancelled: 1 } });
  souk.upstream.on('product', has(600));
  const after = await batchOnce(souk, client, second, isFinished, 1_000);
  expect(after).toMatchObject({ state: 'done', counts: { done: 1, cancelled: 0 } });
  expect(asksFor(asin)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(1);
});

test('releases a background call immediately if no tokens come before its deadline', async () => {
  await learn(60);
  const asin = newAsin();
  const callId = await background.submit(account, { domain: '1', asins: asin }, { patienceMs: 20_000 });
  const job = (await client.get(`/api/jobs/${callId}?wait=30`)).json.data;
  expect(job).toMatchObject({ state: 'failed', unitsCharged: 0, error: { code: 'BUSY' } });
  expect(asksFor(asin)).toEqual([]);
  expect(await unitsUsed(client)).toBe(0);
});

test('leaves the wait for tokens out of the estimated wait of other calls', async () => {
  await learn(45);
  const asin = newAsin();
  const callId = await paused(asin);
  await passPauses(() => asksFor(asin).length === 1);
  await client.get(`/api/jobs/${callId}?wait=30`);
  await stopWorkers(souk);
  const { json } = await other.get(`${pathOf(newAsin())}&async=1`);
  const { etaMs, position } = (await other.get(json.data.links.self)).json.data;
  expect(position).toBe(0);
  // It has waited for more than a minute, of which one tenth would be counted.
  expect(etaMs ?? 0).toBeLessThan(2_000);
});
