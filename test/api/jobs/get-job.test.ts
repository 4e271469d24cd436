import { expect } from 'vitest';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { newAsin } from '../../support/answers.ts';
import { testWithHeldProducts as test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';
import { stopWorkers } from '../../support/workers.ts';

test.override('soukOptions', { gateways: 2 });
const newProduct = () => `/api/market/product?domain=1&asins=${newAsin()}`;

test.for([
  ['Prefer: respond-async', '', { prefer: 'respond-async' }, 'respond-async'],
  ['?async=1', '&async=1', {}, undefined],
  ['?async=true', '&async=true', {}, undefined],
] as const)('%s returns the job immediately', async ([_, suffix, headers, applied], { client, release }) => {
  const reply = await client.get(`${newProduct()}${suffix}`, { headers });
  expect(reply.status).toBe(202);
  const jobId = reply.headers['x-job-id'];
  expect(reply.headers).toMatchObject({ location: `/api/jobs/${jobId}`, 'x-units-consumed': '0' });
  expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
  expect(reply.headers['preference-applied']).toBe(applied);
  expect(reply.json).toMatchObject({
    code: 'ACCEPTED',
    data: {
      jobId,
      operation: 'market.product',
      links: { self: `/api/jobs/${jobId}`, result: `/api/jobs/${jobId}/result` },
    },
  });
  release();
  expect((await client.get(`/api/jobs/${jobId}?wait=30`)).json.data.state).toBe('done');
});

test('?async=0 waits for the answer', async ({ client, release }) => {
  release();
  expect((await client.get(`${newProduct()}&async=0`)).status).toBe(200);
});

test('refuses ?async=perhaps', async ({ client }) => {
  const reply = await client.get(`${newProduct()}&async=perhaps`);
  expect(reply.status).toBe(400);
  expect(reply.json.metadata).toMatchObject({ errors: [{ parameter: 'async' }] });
});

test('shows a job as queued, running and done, with the time of each', async ({ souk, client, release }) => {
  const seen = new Date(souk.clock.now()).toISOString();
  await stopWorkers(souk);
  const { headers } = await client.get(`${newProduct()}&async=1`);
  const job = headers.location ?? '';
  const queued = await client.get(job);
  expect(queued.status).toBe(200);
  expect(queued.headers['retry-after']).toBe('1');
  expect(queued.json.data).toMatchObject({
    state: 'queued',
    operation: 'market.product',
    unitsReserved: 1,
    unitsCharged: 0,
    createdAt: seen,
    startedAt: null,
    finishedAt: null,
    attempts: 0,
    error: null,
  });
  await souk.addWorker();
  await souk.upstream.received(1);
  expect((await client.get(job)).json.data).toMatchObject({ state: 'running', attempts: 1 });
  release();
  const done = await client.get(`${job}?wait=30`);
  expect(done.headers).not.toHaveProperty('retry-after');
  expect(done.json.data).toMatchObject({
    state: 'done',
    unitsReserved: 1,
    unitsCharged: 1,
    error: null,
    attempts: 1,
    startedAt: seen,
    finishedAt: seen,
  });
});

test('a failed job has an error, costs nothing, and has the error as result', async ({ souk, client }) => {
  souk.upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const { headers } = await client.get(`${newProduct()}&async=1`);
  const job = (await client.get(`${headers.location}?wait=30`)).json.data;
  expect(job).toMatchObject({ state: 'failed', unitsCharged: 0, error: { code: 'UPSTREAM_ERROR' } });
  const result = await client.get(job.links.result);
  expect(result.status).toBe(502);
  expect(result.json).toMatchObject({ code: 'UPSTREAM_ERROR', msg: job.error.msg, data: null });
  expect(result.json.metadata?.errorId).toEqual(expect.any(String));
  expect(await unitsUsed(client)).toBe(0);
});

test('the result is 202 until the job is done, then the synchronous body', async ({ client, release }) => {
  const path = newProduct();
  const { headers } = await client.get(`${path}&async=1`);
  const result = `${headers.location}/result`;
  const pending = await client.get(result);
  expect([pending.status, pending.json.code]).toEqual([202, 'ACCEPTED']);
  expect(pending.headers['retry-after']).toBe('1');
  const waiting = client.get(`${result}?wait=30`);
  release();
  const done = await waiting;
  expect(done.status).toBe(200);
  expect(done.headers).toMatchObject({ 'x-units-consumed': '0', 'x-units-charged': '1', 'x-cache': 'MISS' });
  const joined = await client.get(path);
  expect(joined.headers['x-deduplicated']).toBe('true');
  expect(done.body).toEqual(joined.body);
  expect(done.headers['content-type']).toBe(joined.headers['content-type']);
});

test('a long poll returns when the job ends, on any gateway, and is free', async ({ souk, release }) => {
  const { key } = await souk.account();
  const [here, there] = [souk.clientOf(key, 0), souk.clientOf(key, 1)];
  const { headers } = await here.get(`${newProduct()}&async=1`);
  const awaited = souk.events.next('call.awaited');
  const poll = there.get(`${headers.location}?wait=60`);
  await awaited;
  release();
  const reply = await poll;
  expect(reply.json.data.state).toBe('done');
  expect(reply.headers['x-units-consumed']).toBe('0');
  expect(await unitsUsed(here)).toBe(1);
});

test('a long poll returns the current state after its timeout', async ({ souk, client }) => {
  const { headers } = await client.get(`${newProduct()}&async=1`);
  const awaited = souk.events.next('call.awaited');
  const poll = client.get(`${headers.location}?wait=5`);
  await awaited;
  souk.clock.advance(5_000);
  expect((await poll).json.data.state).toBe('running');
});

test.for(['61', '-1', 'long', '1.5'])('refuses ?wait=%s', async (wait, { client, release }) => {
  release();
  const { headers } = await client.get(`${newProduct()}&async=1`);
  const reply = await client.get(`${headers.location}?wait=${wait}`);
  expect(reply.status).toBe(400);
  expect(reply.json.metadata).toMatchObject({ errors: [{ parameter: 'wait' }] });
});

test('an asynchronous call with a cached answer makes a job that is done immediately', async ({
  souk,
  client,
  release,
}) => {
  release();
  const path = newProduct();
  await (await souk.client()).get(path);
  const reply = await client.get(`${path}&async=1`);
  expect(reply.status).toBe(202);
  expect(reply.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
  expect((await client.get(reply.headers.location ?? '')).json.data).toMatchObject({
    state: 'done',
    unitsCharged: 1,
  });
  const result = await client.get(`${reply.headers.location}/result`);
  expect(result.json.data).toMatchObject({ fromCache: true, count: 1 });
});

test('keeps the result of a job for a day, and the job for a week, then returns 404', async ({
  souk,
  client,
  release,
}) => {
  release();
  const { headers } = await client.get(`${newProduct()}&async=1`);
  await client.get(`${headers.location}?wait=30`);
  souk.clock.advance(DAY_MS);
  expect((await client.get(`${headers.location}/result`)).status).toBe(200);
  souk.clock.advance(6 * DAY_MS);
  expect((await client.get(headers.location ?? '')).json.data).toMatchObject({ state: 'done' });
  souk.clock.advance(1);
  for (const place of [headers.location, `${headers.location}/result`]) {
    expect((await client.get(place ?? '')).json.code).toBe('JOB_NOT_FOUND');
  }
});
