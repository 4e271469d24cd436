import { expect } from 'vitest';
import { openQueues } from '../../../jobs/queues.ts';
import { ledgerLines } from '../../../src/billing/ledger-lines.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis.ts';
import { redisKeys } from '../../../src/platform/redis-keys.ts';
import { newAsin } from '../../support/answers.ts';
import { openBackground } from '../../support/background.ts';
import type { Client } from '../../support/client.ts';
import type { Souk, TestAccount } from '../../support/souk.ts';
import { testWithHeldProducts as test } from '../../support/souk-test.ts';
import { PATIENCE } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';
import { openCalls, stopWorkers } from '../../support/workers.ts';

test.override('soukOptions', { gateways: 2 });
test.beforeEach(async ({ souk }) => {
  if (souk.workers.length === 0) await souk.addWorker();
});
test.afterEach(async ({ souk, release }) => {
  release();
  await expect.poll(() => openCalls(souk)).toBe(0);
});

const pathOf = (...asins: string[]) => `/api/market/product?domain=1&asins=${asins.join(',')}`;

async function newJob(client: Client, path = pathOf(newAsin())): Promise<string> {
  return (await client.get(`${path}&async=1`)).json.data.links.self;
}

const cancel = (client: Client, job: string, as = client) => as.get(job, { method: 'DELETE' });

async function ledger(souk: Souk, account: TestAccount) {
  const lines = await ledgerLines(souk.database, account.accountId, { limit: 10 });
  return lines.map(({ kind, units }) => [kind, units]);
}

test('a cancelled queued job never runs, releases its units', async ({ souk, account, client, release }) => {
  await stopWorkers(souk);
  const [a, b] = [newAsin(), newAsin()];
  const job = await newJob(client, pathOf(a, b));
  expect(await unitsUsed(client)).toBe(2);
  const reply = await cancel(client, job);
  expect(reply.status).toBe(200);
  expect(reply.headers).toMatchObject({ 'x-units-consumed': '0', 'x-job-id': job.split('/').at(-1) });
  expect(reply.headers).not.toHaveProperty('retry-after');
  expect(reply.json.data).toMatchObject({
    state: 'cancelled',
    unitsReserved: 2,
    unitsCharged: 0,
    position: null,
    startedAt: null,
    attempts: 0,
    error: { code: 'CANCELLED' },
    finishedAt: new Date(souk.clock.now()).toISOString(),
  });
  expect(await unitsUsed(client)).toBe(0);
  expect(await ledger(souk, account)).toEqual([
    ['release', 2],
    ['reserve', 2],
  ]);
  const result = await client.get(`${job}/result`);
  expect([result.status, result.json.code]).toEqual([409, 'CANCELLED']);
  await souk.addWorker();
  release();
  // A job queued behind the cancelled one has ended, and the cancelled one did not run.
  expect((await client.get(pathOf(newAsin()))).status).toBe(200);
  expect(souk.upstream.calls.map(({ params }) => params.asin)).not.toContain(`${a},${b}`);
});

test('a running job whose request was sent runs to its end, is charged, and its answer is readable', async ({
  souk,
  client,
  release,
}) => {
  const [a, b] = [newAsin(), newAsin()];
  const job = await newJob(client, pathOf(a, b));
  await souk.upstream.received(1, 'product');
  const reply = await cancel(client, job);
  expect([reply.status, reply.json.data.state, reply.headers['retry-after']]).toEqual([200, 'running', '1']);
  release();
  expect((await client.get(`${job}?wait=30`)).json.data).toMatchObject({ state: 'done', unitsCharged: 2 });
  expect((await client.get(`${job}/result`)).json.data.count).toBe(2);
  expect(await unitsUsed(client)).toBe(2);
  // It is in the cache for other accounts.
  const other = await souk.client();
  expect((await other.get(pathOf(a, b))).headers['x-cache']).toBe('HIT');
  expect(souk.upstream.calls.map(({ aborted }) => aborted)).toEqual([false]);
});

test('a job that was sent in part is charged for that part', async ({ souk, account, client, release }) => {
  await souk.addWorker();
  // With offers, a request has 20 products, and a call has four requests under way.
  const asins = Array.from({ length: 100 }, newAsin);
  const job = await newJob(client, `${pathOf(...asins)}&offers=20`);
  const callId = job.split('/').at(-1) ?? '';
  await souk.upstream.received(4, 'product');
  const stopped = souk.events.next('job.cancelled', { callId });
  await cancel(souk.clientOf(account.key, 1), job);
  await stopped;
  release();
  expect((await client.get(`${job}?wait=30`)).json.data).toMatchObject({ state: 'done', unitsCharged: 80 });
  const { products, errors } = (await client.get(`${job}/result`)).json.data;
  expect([products.length, errors.length]).toEqual([80, 20]);
  expect(new Set(errors.map(({ errorId }: { errorId: string }) => errorId))).toEqual(new Set(['CANCELLED']));
  expect(await unitsUsed(client)).toBe(80);
  expect(await ledger(souk, account)).toEqual([
    ['release', 20],
    ['settle', 80],
    ['reserve', 100],
  ]);
  expect(souk.upstream.callsTo('product')).toHaveLength(4);
});

test('requests that wait for the job receive CANCELLED', async ({ souk, client }) => {
  await stopWorkers(souk);
  const awaited = souk.events.next('call.awaited');
  const waiting = client.get(pathOf(newAsin()));
  await awaited;
  const polling = client.get(`/api/jobs?limit=1`).then(async ({ json }) => {
    const job = json.data.jobs[0].links.self as string;
    const [poll] = await Promise.all([client.get(`${job}/result?wait=30`), cancel(client, job)]);
    return poll;
  });
  for (const reply of [await waiting, await polling]) {
    expect([reply.status, reply.json.code, reply.json.data]).toEqual([409, 'CANCELLED', null]);
    expect(reply.headers['x-units-consumed']).toBe('0');
  }
  expect((await waiting).headers['x-job-id']).toEqual(expect.any(String));
  expect(await unitsUsed(client)).toBe(0);
});

test('a request that was sent goes on for both accounts that wait', async ({ souk, client, release }) => {
  const asin = newAsin();
  const job = await newJob(client, pathOf(asin));
  await souk.upstream.received(1, 'product');
  const other = await souk.client();
  const followed = souk.events.next('source.followed');
  const waiting = other.get(pathOf(asin));
  await followed;
  expect((await cancel(client, job)).json.data.state).toBe('running');
  release();
  const reply = await waiting;
  expect(reply.status).toBe(200);
  expect(reply.headers['x-units-consumed']).toBe('1');
  expect(souk.upstream.calls.map(({ aborted }) => aborted)).toEqual([false]);
  expect((await client.get(`${job}?wait=30`)).json.data).toMatchObject({ state: 'done', unitsCharged: 1 });
  expect([await unitsUsed(client), await unitsUsed(other)]).toEqual([1, 1]);
});

test('a job that follows the fetch of another account is cancelled immediately, and does not affect the fetch of another account', async ({
  souk,
  client,
  release,
}) => {
  const asin = newAsin();
  const other = await souk.client();
  const waiting = other.get(pathOf(asin));
  await souk.upstream.received(1, 'product');
  const job = await newJob(client, pathOf(asin));
  const callId = job.split('/').at(-1) ?? '';
  await souk.events.until('source.followed', { callId });
  const ended = souk.events.next('job.ended', { callId });
  await cancel(client, job);
  expect(await ended).toMatchObject({ state: 'released', error: 'CANCELLED' });
  expect(await unitsUsed(client)).toBe(0);
  release();
  expect((await waiting).status).toBe(200);
  expect(souk.upstream.calls.map(({ aborted }) => aborted)).toEqual([false]);
});

test('refuses to cancel a job that others of the account have joined', async ({ souk, client, release }) => {
  const path = pathOf(newAsin());
  const job = await newJob(client, path);
  await souk.upstream.received(1, 'product');
  const awaited = souk.events.next('call.awaited');
  const joining = client.get(path);
  await awaited;
  const refused = await cancel(client, job);
  expect([refused.status, refused.json.code]).toEqual([409, 'JOB_SHARED']);
  release();
  expect((await joining).headers).toMatchObject({ 'x-deduplicated': 'true' });
  expect((await client.get(`${job}?wait=30`)).json.data).toMatchObject({ state: 'done', unitsCharged: 1 });
});

test.for([
  ['done', true],
  ['failed', false],
] as const)('does not change a job that is %s', async ([state, goesWell], { souk, client, release }) => {
  if (!goesWell) souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'no' } } }));
  release();
  const job = await newJob(client);
  const before = (await client.get(`${job}?wait=30`)).json.data;
  const used = await unitsUsed(client);
  const reply = await cancel(client, job);
  expect(reply.status).toBe(200);
  expect(reply.json.data).toEqual(before);
  expect(reply.json.data.state).toBe(state);
  expect(await unitsUsed(client)).toBe(used);
});

test('releases the units once when a job is cancelled many times', async ({ souk, account, client }) => {
  await stopWorkers(souk);
  const job = await newJob(client, pathOf(newAsin(), newAsin()));
  const there = souk.clientOf(account.key, 1);
  const replies = await Promise.all([
    cancel(client, job),
    cancel(client, job, there),
    cancel(client, job),
    cancel(client, job, there),
  ]);
  for (const { status, json } of [...replies, await cancel(client, job)])
    expect([status, json.data.state]).toEqual([200, 'cancelled']);
  expect(await ledger(souk, account)).toEqual([
    ['release', 2],
    ['reserve', 2],
  ]);
});

test('the same request after a cancellation makes a new job', async ({ souk, client, release }) => {
  await stopWorkers(souk);
  const path = pathOf(newAsin());
  const job = await newJob(client, path);
  await cancel(client, job);
  await souk.addWorker();
  release();
  const again = await client.get(path);
  expect(again.status).toBe(200);
  expect(again.headers).toMatchObject({ 'x-units-consumed': '1' });
  expect(again.headers['x-job-id']).not.toBe(job.split('/').at(-1));
});

test('accepts a content type without a body', async ({ client }) => {
  const job = await newJob(client);
  const headers = { 'content-type': 'application/json' };
  expect((await client.get(job, { method: 'DELETE', headers })).status).toBe(200);
});

test('a worker does not start a job cancelled before it receives it', async ({ souk, client, release }) => {
  const keys = redisKeys(souk.redisNamespace);
  const redis = await connectRedis(souk.redisUrl, 'submitting', createLogger('silent'), PATIENCE);
  const queues = openQueues(redis, keys, createLogger('silent'));
  const market = queues.of('market');
  await market.pause();
  const asin = newAsin();
  const job = await newJob(client, pathOf(asin));
  const callId = job.split('/').at(-1) ?? '';
  const held = await market.getJob(callId);
  expect((await cancel(client, job)).json.data.state).toBe('cancelled');
  expect(await market.getJob(callId)).toBeUndefined();
  // Simulates a worker that took the job from the queue just before.
  await market.add('market.product', held?.data as never, { jobId: callId });
  await market.resume();
  release();
  expect((await client.get(pathOf(newAsin()))).status).toBe(200);
  await expect.poll(() => market.getJob(callId)).toBeUndefined();
  expect(souk.upstream.calls.map(({ params }) => params.asin)).not.toContain(asin);
  expect((await client.get(job)).json.data).toMatchObject({ state: 'cancelled', unitsCharged: 0 });
  await queues.close();
  await closeRedis(redis);
});

test('cancels a call of a batch by its id', async ({ souk, account, client }) => {
  const background = await openBackground(souk);
  await stopWorkers(souk);
  const callId = await background.submit(account, { domain: '1', asins: newAsin() });
  expect((await cancel(client, `/api/jobs/${callId}`)).json.data).toMatchObject({ state: 'cancelled' });
  expect(await unitsUsed(client)).toBe(0);
  await background.close();
});

test('does not cancel a call of a batch if a request has joined it, until the deadline of the call', async ({
  souk,
  account,
  client,
  redis,
}) => {
  await stopWorkers(souk);
  const background = await openBackground(souk);
  const asin = newAsin();
  const callId = await background.submit(account, { domain: '1', asins: asin }, { patienceMs: DAY_MS });
  await background.close();
  expect((await client.get(`${pathOf(asin)}&async=1`)).headers['x-job-id']).toBe(callId);
  const keptMs = await redis.pttl(redisKeys(souk.redisNamespace).joined(callId));
  expect(keptMs).toBeGreaterThan(DAY_MS - 60_000);
  expect((await cancel(client, `/api/jobs/${callId}`)).json.code).toBe('JOB_SHARED');
  await redis.del(redisKeys(souk.redisNamespace).joined(callId));
  await cancel(client, `/api/jobs/${callId}`);
});
