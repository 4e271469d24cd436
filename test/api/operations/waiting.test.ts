import { expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import type { Reply } from '../../support/client.ts';
import { testWithHeldProducts as test } from '../../support/souk-test.ts';
import { advanceUntil } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';
import { openCalls, stopWorkers } from '../../support/workers.ts';

/** A pending reply, and whether it has arrived. */
function arrivalOf(arrived: Promise<Reply>) {
  let isThere = false;
  void arrived.then(() => {
    isThere = true;
  });
  return { arrived, hasArrived: () => isThere };
}

const newProduct = () => `/api/market/product?domain=1&asins=${newAsin()}`;

test('Prefer: wait=N returns the job after N seconds, and it goes on', async ({ souk, client, release }) => {
  const path = newProduct();
  const waiting = client.get(path, { headers: { prefer: 'wait=7' } });
  await souk.upstream.received(1);
  souk.clock.advance(7_000);
  const reply = await waiting;
  expect(reply.status).toBe(202);
  expect(reply.headers).toMatchObject({ 'preference-applied': 'wait=7', 'x-units-consumed': '0' });
  expect(reply.headers.location).toBe(`/api/jobs/${reply.headers['x-job-id']}`);
  release();
  const done = await client.get(`${reply.headers.location}/result?wait=30`);
  expect(done.json.data.count).toBe(1);
  expect(souk.upstream.calls).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(1);
});

test('Prefer: wait=0 returns the job immediately', async ({ souk, client }) => {
  const reply = arrivalOf(client.get(newProduct(), { headers: { prefer: 'wait=0' } }));
  await advanceUntil(souk.clock, reply.hasArrived, 0);
  expect((await reply.arrived).status).toBe(202);
});

test('Prefer: wait=N returns an answer that is ready within N seconds', async ({ client, release }) => {
  release();
  const reply = await client.get(newProduct(), { headers: { prefer: 'wait=30' } });
  expect(reply.status).toBe(200);
  expect(reply.headers['preference-applied']).toBe('wait=30');
});

test.for(['wait=soon', 'handling=lenient', ''])(
  'ignores the unknown preference "%s"',
  async (prefer, { client, release }) => {
    release();
    const reply = await client.get(newProduct(), { headers: { prefer } });
    expect(reply.status).toBe(200);
    expect(reply.headers).not.toHaveProperty('preference-applied');
  },
);

test('returns the job after the synchronous limit; the next joins', async ({ souk, client, release }) => {
  const path = newProduct();
  await stopWorkers(souk);
  const waiting = arrivalOf(client.get(path));
  await expect.poll(() => openCalls(souk)).toBe(1);
  const started = souk.clock.now();
  await advanceUntil(souk.clock, waiting.hasArrived, 1_000);
  const reply = await waiting.arrived;
  expect(reply.status).toBe(202);
  // Slightly more than the pool's timeout.
  expect(souk.clock.now() - started).toBeGreaterThanOrEqual(65_000);
  await souk.addWorker();
  release();
  const joined = await client.get(path);
  expect(joined.headers).toMatchObject({ 'x-deduplicated': 'true', 'x-job-id': reply.headers['x-job-id'] });
  expect(joined.status).toBe(200);
  expect(await unitsUsed(client)).toBe(1);
});

test('a disconnect does not cancel a call that others have joined', async ({ souk, client, release }) => {
  const path = newProduct();
  const hangUp = new AbortController();
  const first = client.get(path, { signal: hangUp.signal }).catch((error: Error) => error.name);
  await souk.upstream.received(1);
  const awaited = souk.events.next('call.awaited');
  const second = client.get(path);
  await awaited;
  hangUp.abort();
  expect(await first).toBe('AbortError');
  release();
  const reply = await second;
  expect(reply.status).toBe(200);
  expect(reply.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(souk.upstream.calls.map(({ aborted }) => aborted)).toEqual([false]);
  expect(await unitsUsed(client)).toBe(1);
});

test('the same call after a disconnect returns the first answer', async ({ souk, client, release }) => {
  const path = newProduct();
  const hangUp = new AbortController();
  const first = client.get(path, { signal: hangUp.signal }).catch((error: Error) => error.name);
  await souk.upstream.received(1);
  hangUp.abort();
  await first;
  release();
  await expect.poll(() => openCalls(souk)).toBe(0);
  const again = await client.get(path);
  expect(again.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(souk.upstream.calls).toHaveLength(1);
});

test('waiting callers receive the job when the gateway closes', async ({ souk, release }) => {
  await souk.addGateway();
  const { key } = await souk.account();
  const waiting = souk.clientOf(key, 1).get(newProduct());
  await souk.upstream.received(1);
  const [closing] = souk.gateways.splice(1);
  const closed = closing?.close();
  const reply = await waiting;
  expect(reply.status).toBe(202);
  await closed;
  release();
  const elsewhere = await souk.clientOf(key).get(`${reply.headers.location}/result?wait=30`);
  expect(elsewhere.json.data.count).toBe(1);
});
