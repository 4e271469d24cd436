import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { closeQueues, openQueues } from '../../../jobs/queues.ts';
import { ledgerLines } from '../../../src/billing/ledger-lines.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis.ts';
import { redisKeys } from '../../../src/platform/redis-keys.ts';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { openBackground } from '../../support/background.ts';
import type { Client } from '../../support/client.ts';
import { gate } from '../../support/scripted-upstream.ts';
import { openSouk, type Souk, type TestAccount } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';
import { openCalls, stopWorkers } from '../../support/workers.ts';

let souk: Souk;
let account: TestAccount;
let client: Client;
let open: () => void;
beforeAll(async () => {
  souk = await openSouk({ gateways: 2 });
});
afterAll(() => souk.close());
beforeEach(async () => {
  if (souk.workers.length === 0) await souk.addWorker();
  account = await souk.account();
  client = souk.clientOf(account.key);
  const { reached, ...opening } = gate();
  open = opening.open;
  souk.upstream.calls.length = 0;
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
});
afterEach(async () => {
  open();
  await expect.poll(() => openCalls(souk)).toBe(0);
});

const pathOf = (...asins: string[]) => `/api/market/product?domain=1&asins=${asins.join(',')}`;

async function newJob(path = pathOf(newAsin())): Promise<string> {
  return (await client.get(`${path}&async=1`)).json.data.links.self;
}

const cancel = (job: string, as = client) => as.get(job, { method: 'DELETE' });

async function ledger() {
  const lines = await ledgerLines(souk.database, account.accountId, { limit: 10 });
  return lines.map(({ kind, units }) => [kind, units]);
}

test('a queued job never runs, and all its units come back', async () => {
  await stopWorkers(souk);
  const [a, b] = [newAsin(), newAsin()];
  const job = await newJob(pathOf(a, b));
  expect(await unitsUsed(client)).toBe(2);
  const reply = await cancel(job);
  expect(reply.status).toBe(200);
  expect(reply.headers).toMatchObject({ 'x-units-consumed': '0', 'x-job-id': job.split('/').at(-1) });
  expect(reply.headers).not.toHaveProperty('retry-after');
  expect(reply.json.data).toMatchObject({
    ...{
      state: 'cancelled',
      unitsReserved: 2,
      unitsCharged: 0,
      position: null,
      startedAt: null,
      attempts: 0,
    },
    ...{ error: { code: 'CANCELLED' }, finishedAt: new Date(souk.clock.now()).toISOString() },
  });
  expect(await unitsUsed(client)).toBe(0);
  expect(await ledger()).toEqual([
    ['release', 2],
    ['reserve', 2],
  ]);
  const result = await client.get(`${job}/result`);
  expect([result.status, result.json.code]).toEqual([409, 'CANCELLED']);
  await souk.addWorker();
  open();
  // One that was queued behind it is done, and it was not.
  expect((await client.get(pathOf(newAsin()))).status).toBe(200);
  expect(souk.upstream.calls.map(({ params }) => params.asin)).not.toContain(`${a},${b}`);
});

test('of a running job the upstream call is aborted, and all its units come back', async () => {
  const job = await newJob(pathOf(newAsin(), newAsin(), newAsin()));
  await souk.upstream.received(1, 'product');
  expect((await cancel(job)).json.data).toMatchObject({
    ...{ state: 'cancelled', unitsCharged: 0, progress: 0, startedAt: expect.any(String), attempts: 1 },
  });
  await souk.upstream.abandoned(1);
  expect(await unitsUsed(client)).toBe(0);
  expect(await ledger()).toEqual([
    ['release', 3],
    ['reserve', 3],
  ]);
});

test('it does not matter which gateway is asked, nor which worker runs the job', async () => {
  await souk.addWorker();
  const jobs = [await newJob(), await newJob(), await newJob()];
  await souk.upstream.received(3, 'product');
  for (const job of jobs) await cancel(job, souk.clientOf(account.key, 1));
  await souk.upstream.abandoned(3);
});

test('whoever waits for the job is told that it was cancelled', async () => {
  const waiting = client.get(pathOf(newAsin()));
  await souk.upstream.received(1, 'product');
  const polling = client.get(`/api/jobs?limit=1`).then(async ({ json }) => {
    const job = json.data.jobs[0].links.self as string;
    const [poll] = await Promise.all([client.get(`${job}/result?wait=30`), cancel(job)]);
    return poll;
  });
  for (const reply of [await waiting, await polling]) {
    expect([reply.status, reply.json.code, reply.json.data]).toEqual([409, 'CANCELLED', null]);
    expect(reply.headers['x-units-consumed']).toBe('0');
  }
  expect((await waiting).headers['x-job-id']).toEqual(expect.any(String));
  expect(await unitsUsed(client)).toBe(0);
});

test('what another account waits for as well goes on, as one upstream call', async () => {
  const asin = newAsin();
  const job = await newJob(pathOf(asin));
  await souk.upstream.received(1, 'product');
  const other = await souk.client();
  const followed = souk.events.next('source.followed');
  const waiting = other.get(pathOf(asin));
  await followed;
  expect((await cancel(job)).json.data.state).toBe('cancelled');
  open();
  const reply = await waiting;
  expect(reply.status).toBe(200);
  expect(reply.headers['x-units-consumed']).toBe('1');
  expect(souk.upstream.calls.map(({ aborted }) => aborted)).toEqual([false]);
  expect([await unitsUsed(client), await unitsUsed(other)]).toEqual([0, 1]);
  expect((await client.get(job)).json.data).toMatchObject({ state: 'cancelled', unitsCharged: 0 });
});

test('one that waits for what another account is fetching leaves that alone', async () => {
  const asin = newAsin();
  const other = await souk.client();
  const waiting = other.get(pathOf(asin));
  await souk.upstream.received(1, 'product');
  const job = await newJob(pathOf(asin));
  const callId = job.split('/').at(-1) ?? '';
  await souk.events.until('source.followed', { callId });
  const ended = souk.events.next('job.ended', { callId });
  await cancel(job);
  await ended;
  open();
  expect((await waiting).status).toBe(200);
  expect(souk.upstream.calls.map(({ aborted }) => aborted)).toEqual([false]);
});

test('a job that other requests of the account have joined goes on', async () => {
  const path = pathOf(newAsin());
  const job = await newJob(path);
  await souk.upstream.received(1, 'product');
  const awaited = souk.events.next('call.awaited');
  const joining = client.get(path);
  await awaited;
  const refused = await cancel(job);
  expect([refused.status, refused.json.code]).toEqual([409, 'JOB_SHARED']);
  open();
  expect((await joining).headers).toMatchObject({ 'x-deduplicated': 'true' });
  expect((await client.get(`${job}?wait=30`)).json.data).toMatchObject({ state: 'done', unitsCharged: 1 });
});

test.each([
  ['done', true],
  ['failed', false],
] as const)('a job that is %s stays so', async (state, goesWell) => {
  if (!goesWell) souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'no' } } }));
  open();
  const job = await newJob();
  const before = (await client.get(`${job}?wait=30`)).json.data;
  const used = await unitsUsed(client);
  const reply = await cancel(job);
  expect(reply.status).toBe(200);
  expect(reply.json.data).toEqual(before);
  expect(reply.json.data.state).toBe(state);
  expect(await unitsUsed(client)).toBe(used);
});

test('cancelling it many times gives its units back once', async () => {
  const job = await newJob(pathOf(newAsin(), newAsin()));
  await souk.upstream.received(1, 'product');
  const there = souk.clientOf(account.key, 1);
  const replies = await Promise.all([cancel(job), cancel(job, there), cancel(job), cancel(job, there)]);
  for (const { status, json } of [...replies, await cancel(job)])
    expect([status, json.data.state]).toEqual([200, 'cancelled']);
  expect(await ledger()).toEqual([
    ['release', 2],
    ['reserve', 2],
  ]);
});

test('asking again is a new call, with a job of its own', async () => {
  const path = pathOf(newAsin());
  const job = await newJob(path);
  await souk.upstream.received(1, 'product');
  await cancel(job);
  open();
  const again = await client.get(path);
  expect(again.status).toBe(200);
  expect(again.headers).toMatchObject({ 'x-units-consumed': '1' });
  expect(again.headers['x-job-id']).not.toBe(job.split('/').at(-1));
});

test('a client that gives its request the type of a body it does not send is understood', async () => {
  const job = await newJob();
  const headers = { 'content-type': 'application/json' };
  expect((await client.get(job, { method: 'DELETE', headers })).json.data.state).toBe('cancelled');
});

test('the job of another account does not exist, and goes on', async () => {
  const job = await newJob();
  const stranger = await souk.client();
  for (const place of [job, '/api/jobs/01890000-0000-7000-8000-000000000000', '/api/jobs/none']) {
    const { status, json } = await cancel(place, stranger);
    expect([status, json.code]).toEqual([404, 'JOB_NOT_FOUND']);
  }
  expect((await stranger.raw(job, { method: 'DELETE' })).status).toBe(401);
  open();
  expect((await client.get(`${job}?wait=30`)).json.data.state).toBe('done');
});

test('a job that a worker is handed after it was cancelled is not begun', async () => {
  const keys = redisKeys(souk.redisNamespace);
  const redis = await connectRedis(souk.redisUrl, 'submitting', createLogger('silent'));
  const queues = openQueues(redis, keys, createLogger('silent'));
  await queues.market.pause();
  const asin = newAsin();
  const job = await newJob(pathOf(asin));
  const callId = job.split('/').at(-1) ?? '';
  const held = await queues.market.getJob(callId);
  expect((await cancel(job)).json.data.state).toBe('cancelled');
  expect(await queues.market.getJob(callId)).toBeUndefined();
  // As if a worker had taken it from the queue just before.
  await queues.market.add('market.product', held?.data as never, { jobId: callId });
  await queues.market.resume();
  open();
  expect((await client.get(pathOf(newAsin()))).status).toBe(200);
  await expect.poll(() => queues.market.getJob(callId)).toBeUndefined();
  expect(souk.upstream.calls.map(({ params }) => params.asin)).not.toContain(asin);
  expect((await client.get(job)).json.data).toMatchObject({ state: 'cancelled', unitsCharged: 0 });
  await closeQueues(queues);
  await closeRedis(redis);
});

test('a call of a batch can be cancelled by its id', async () => {
  const background = await openBackground(souk);
  const callId = await background.submit(account, { domain: '1', asins: newAsin() });
  await souk.upstream.received(1, 'product');
  expect((await cancel(`/api/jobs/${callId}`)).json.data).toMatchObject({ state: 'cancelled' });
  await souk.upstream.abandoned(1);
  expect(await unitsUsed(client)).toBe(0);
  await background.close();
});
