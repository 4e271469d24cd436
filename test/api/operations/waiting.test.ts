import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { knowsEveryProduct } from '../../support/answers.ts';
import type { Client, Reply } from '../../support/client.ts';
import { gate } from '../../support/scripted-upstream.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { advanceUntil } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';
import { openCalls, stopWorkers } from '../../support/workers.ts';

let souk: Souk;
let client: Client;
let open: () => void;
beforeAll(async () => {
  souk = await openSouk();
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

/** A reply, and whether it is there. */
function arrivalOf(arrived: Promise<Reply>) {
  let isThere = false;
  void arrived.then(() => {
    isThere = true;
  });
  return { arrived, hasArrived: () => isThere };
}

let lastAsin = 0;
function newProduct(): string {
  lastAsin += 1;
  return `/api/market/product?domain=1&asins=B0WAIT${String(lastAsin).padStart(4, '0')}`;
}

test('Prefer: wait=N answers with the job when the time is over, and the job goes on', async () => {
  const path = newProduct();
  const waiting = client.get(path, { headers: { prefer: 'wait=7' } });
  await souk.upstream.received(1);
  souk.clock.advance(7_000);
  const reply = await waiting;
  expect(reply.status).toBe(202);
  expect(reply.headers).toMatchObject({ 'preference-applied': 'wait=7', 'x-units-consumed': '0' });
  expect(reply.headers.location).toBe(`/api/jobs/${reply.headers['x-job-id']}`);
  open();
  const done = await client.get(`${reply.headers.location}/result?wait=30`);
  expect(done.json.data.count).toBe(1);
  expect(souk.upstream.calls).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(1);
});

test('Prefer: wait=0 does not wait at all', async () => {
  const reply = arrivalOf(client.get(newProduct(), { headers: { prefer: 'wait=0' } }));
  await advanceUntil(souk.clock, reply.hasArrived, 0);
  expect((await reply.arrived).status).toBe(202);
});

test('an answer within the time asked for is simply the answer', async () => {
  open();
  const reply = await client.get(newProduct(), { headers: { prefer: 'wait=30' } });
  expect(reply.status).toBe(200);
  expect(reply.headers['preference-applied']).toBe('wait=30');
});

test.each(['wait=soon', 'handling=lenient', ''])(
  'a preference that is not understood is ignored: "%s"',
  async (prefer) => {
    open();
    const reply = await client.get(newProduct(), { headers: { prefer } });
    expect(reply.status).toBe(200);
    expect(reply.headers).not.toHaveProperty('preference-applied');
  },
);

test('the end of the synchronous budget answers with the job, which another call then joins', async () => {
  const path = newProduct();
  await stopWorkers(souk);
  const waiting = arrivalOf(client.get(path));
  await expect.poll(() => openCalls(souk)).toBe(1);
  const started = souk.clock.now();
  await advanceUntil(souk.clock, waiting.hasArrived, 1_000);
  const reply = await waiting.arrived;
  expect(reply.status).toBe(202);
  // The pool's timeout and a little more.
  expect(souk.clock.now() - started).toBeGreaterThanOrEqual(65_000);
  await souk.addWorker();
  open();
  const joined = await client.get(path);
  expect(joined.headers).toMatchObject({ 'x-deduplicated': 'true', 'x-job-id': reply.headers['x-job-id'] });
  expect(joined.status).toBe(200);
  expect(await unitsUsed(client)).toBe(1);
});

test('a caller who hangs up cancels nothing that others have joined', async () => {
  const path = newProduct();
  const hangUp = new AbortController();
  const first = client.get(path, { signal: hangUp.signal }).catch((error: Error) => error.name);
  await souk.upstream.received(1);
  const awaited = souk.events.next('call.awaited');
  const second = client.get(path);
  await awaited;
  hangUp.abort();
  expect(await first).toBe('AbortError');
  open();
  const reply = await second;
  expect(reply.status).toBe(200);
  expect(reply.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(souk.upstream.calls.map(({ aborted }) => aborted)).toEqual([false]);
  expect(await unitsUsed(client)).toBe(1);
});

test('the answer to a caller who hung up is there when the same is asked again', async () => {
  const path = newProduct();
  const hangUp = new AbortController();
  const first = client.get(path, { signal: hangUp.signal }).catch((error: Error) => error.name);
  await souk.upstream.received(1);
  hangUp.abort();
  await first;
  open();
  await expect.poll(() => openCalls(souk)).toBe(0);
  const again = await client.get(path);
  expect(again.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(souk.upstream.calls).toHaveLength(1);
});

test('callers who wait when their gateway closes are given the job', async () => {
  await souk.addGateway();
  const { key } = await souk.account();
  const waiting = souk.clientOf(key, 1).get(newProduct());
  await souk.upstream.received(1);
  const [closing] = souk.gateways.splice(1);
  const closed = closing?.close();
  const reply = await waiting;
  expect(reply.status).toBe(202);
  await closed;
  open();
  const elsewhere = await souk.clientOf(key).get(`${reply.headers.location}/result?wait=30`);
  expect(elsewhere.json.data.count).toBe(1);
});
