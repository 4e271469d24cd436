import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { knowsEveryProduct } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { gate } from '../../support/scripted-upstream.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';
import { stopWorkers } from '../../support/workers.ts';

let souk: Souk;
let client: Client;
let open: () => void;
beforeAll(async () => {
  souk = await openSouk({ gateways: 2 });
});
afterAll(() => souk.close());
beforeEach(async () => {
  client = await souk.client();
  const { reached, ...opening } = gate();
  open = opening.open;
  souk.upstream.calls.length = 0;
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
});

afterEach(() => open());

let lastAsin = 0;
function newProduct(): string {
  lastAsin += 1;
  return `/api/market/product?domain=1&asins=B0JOBS${String(lastAsin).padStart(4, '0')}`;
}

test.each([
  ['Prefer: respond-async', '', { prefer: 'respond-async' }, 'respond-async'],
  ['?async=1', '&async=1', {}, undefined],
  ['?async=true', '&async=true', {}, undefined],
])('%s is answered with the job at once', async (_, suffix, headers, applied) => {
  const reply = await client.get(`${newProduct()}${suffix}`, { headers });
  expect(reply.status).toBe(202);
  const jobId = reply.headers['x-job-id'];
  expect(reply.headers).toMatchObject({ location: `/api/jobs/${jobId}`, 'x-units-consumed': '0' });
  expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
  expect(reply.headers['preference-applied']).toBe(applied);
  expect(reply.json).toMatchObject({
    code: '0000',
    data: {
      jobId,
      operation: 'market.product',
      links: { self: `/api/jobs/${jobId}`, result: `/api/jobs/${jobId}/result` },
    },
  });
  open();
  expect((await client.get(`/api/jobs/${jobId}?wait=30`)).json.data.state).toBe('done');
});

test('?async=0 waits for the answer', async () => {
  open();
  expect((await client.get(`${newProduct()}&async=0`)).status).toBe(200);
});

test('?async=perhaps is refused', async () => {
  const reply = await client.get(`${newProduct()}&async=perhaps`);
  expect(reply.status).toBe(400);
  expect(reply.json.metadata).toMatchObject({ errors: [{ parameter: 'async' }] });
});

test('a job is queued, running and done, with the times at which it became so', async () => {
  const seen = new Date(souk.clock.now()).toISOString();
  await stopWorkers(souk);
  const { headers } = await client.get(`${newProduct()}&async=1`);
  const job = headers.location ?? '';
  const queued = await client.get(job);
  expect(queued.status).toBe(200);
  expect(queued.headers['retry-after']).toBe('1');
  expect(queued.json.data).toMatchObject({
    state: 'queued',
    ...{ operation: 'market.product', unitsReserved: 1, unitsCharged: 0, createdAt: seen },
    ...{ startedAt: null, finishedAt: null, attempts: 0, error: null },
  });
  await souk.addWorker();
  await souk.upstream.received(1);
  expect((await client.get(job)).json.data).toMatchObject({ state: 'running', attempts: 1 });
  open();
  const done = await client.get(`${job}?wait=30`);
  expect(done.headers).not.toHaveProperty('retry-after');
  expect(done.json.data).toMatchObject({
    ...{ state: 'done', unitsReserved: 1, unitsCharged: 1, error: null, attempts: 1 },
    ...{ startedAt: seen, finishedAt: seen },
  });
});

test('a failed job says why, costs nothing, and its result is the error', async () => {
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

test('the result is pending until the job is done, and then the body that a waiting caller gets', async () => {
  const path = newProduct();
  const { headers } = await client.get(`${path}&async=1`);
  const result = `${headers.location}/result`;
  const pending = await client.get(result);
  expect(pending.status).toBe(202);
  expect(pending.headers['retry-after']).toBe('1');
  const waiting = client.get(`${result}?wait=30`);
  open();
  const done = await waiting;
  expect(done.status).toBe(200);
  expect(done.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'MISS' });
  const joined = await client.get(path);
  expect(joined.headers['x-deduplicated']).toBe('true');
  expect(done.body).toEqual(joined.body);
  expect(done.headers['content-type']).toBe(joined.headers['content-type']);
});

test('a long poll answers as soon as the job ends, on any gateway, and looking costs nothing', async () => {
  const { key } = await souk.account();
  const [here, there] = [souk.clientOf(key, 0), souk.clientOf(key, 1)];
  const { headers } = await here.get(`${newProduct()}&async=1`);
  const awaited = souk.events.next('call.awaited');
  const poll = there.get(`${headers.location}?wait=60`);
  await awaited;
  open();
  const reply = await poll;
  expect(reply.json.data.state).toBe('done');
  expect(reply.headers['x-units-consumed']).toBe('0');
  expect(await unitsUsed(here)).toBe(1);
});

test('a long poll whose time is over tells the state as it is', async () => {
  const { headers } = await client.get(`${newProduct()}&async=1`);
  const awaited = souk.events.next('call.awaited');
  const poll = client.get(`${headers.location}?wait=5`);
  await awaited;
  souk.clock.advance(5_000);
  expect((await poll).json.data.state).toBe('running');
});

test.each(['61', '-1', 'long', '1.5'])('?wait=%s is refused', async (wait) => {
  open();
  const { headers } = await client.get(`${newProduct()}&async=1`);
  const reply = await client.get(`${headers.location}?wait=${wait}`);
  expect(reply.status).toBe(400);
  expect(reply.json.metadata).toMatchObject({ errors: [{ parameter: 'wait' }] });
});

test('the job of another account does not exist, and neither does one that never was', async () => {
  const { headers } = await client.get(`${newProduct()}&async=1`);
  const stranger = await souk.client();
  const places = [headers.location ?? '', '/api/jobs/01890000-0000-7000-8000-000000000000', '/api/jobs/none'];
  for (const place of places.flatMap((job) => [job, `${job}/result`])) {
    const reply = await stranger.get(place);
    expect(reply.status).toBe(404);
    expect(reply.json.code).toBe('JOB_NOT_FOUND');
  }
  expect((await stranger.raw(headers.location ?? '')).status).toBe(401);
});

test('a cached answer is a job too, done at once', async () => {
  open();
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

test('the result is kept for a day for whoever polls, and then forgotten', async () => {
  open();
  const { headers } = await client.get(`${newProduct()}&async=1`);
  await client.get(`${headers.location}?wait=30`);
  souk.clock.advance(24 * 3_600_000);
  expect((await client.get(`${headers.location}/result`)).status).toBe(200);
  souk.clock.advance(1);
  for (const place of [headers.location, `${headers.location}/result`]) {
    expect((await client.get(place ?? '')).json.code).toBe('JOB_NOT_FOUND');
  }
});
