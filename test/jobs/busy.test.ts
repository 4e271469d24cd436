import { expect } from 'vitest';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';
import { openCalls, stopWorkers } from '../support/workers.ts';

const productOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

async function withoutWorkers(souk: Souk): Promise<void> {
  await stopWorkers(souk);
  for (const gateway of souk.gateways) await gateway.sampleBacklog();
}

test.for(['', '&async=1'])(
  'refuses a call immediately and at no charge if no worker can run it %s',
  async (suffix, { souk, client }) => {
    await withoutWorkers(souk);
    const reply = await client.get(`${productOf('B0BUSY0001')}${suffix}`);
    expect(reply.status).toBe(503);
    expect(reply.json).toMatchObject({ code: 'BUSY', data: null });
    expect(reply.headers).toMatchObject({ 'x-units-consumed': '0', 'retry-after': '10' });
    expect(await unitsUsed(client)).toBe(0);
    expect(await openCalls(souk)).toBe(0);
  },
);

test('refuses a call if only workers of other pools run', async ({ souk, client }) => {
  await withoutWorkers(souk);
  await souk.addWorker(['graph']);
  expect((await client.get(productOf('B0BUSY0002'))).status).toBe(503);
});

test('serves and charges cached answers while no worker runs', async ({ souk }) => {
  await souk.addWorker();
  await (await souk.client()).get(productOf('B0BUSY0003'));
  await withoutWorkers(souk);
  const reply = await (await souk.client()).get(productOf('B0BUSY0003'));
  expect(reply.status).toBe(200);
  expect(reply.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
});

test('joins a call that was answered within five minutes while no worker runs', async ({ souk, client }) => {
  await souk.addWorker();
  // A forced call cannot use a cached answer, and joins only its own call.
  const path = `${productOf('B0BUSY0004')}&update=0`;
  const first = await client.get(path);
  await withoutWorkers(souk);
  const second = await client.get(path);
  expect(second.headers['x-deduplicated']).toBe('true');
  expect(second.body).toEqual(first.body);
});

test('joins a queued call while no worker runs', async ({ souk, client }) => {
  await souk.addWorker();
  await stopWorkers(souk);
  const first = await client.get(`${productOf('B0BUSY0005')}&async=1`);
  expect(first.status).toBe(202);
  await withoutWorkers(souk);
  const second = await client.get(`${productOf('B0BUSY0005')}&async=1`);
  expect(second.status).toBe(202);
  expect(second.headers).toMatchObject({ location: first.headers.location, 'x-deduplicated': 'true' });
  await souk.addWorker();
  expect((await client.get(`${first.headers.location}?wait=30`)).json.data.state).toBe('done');
});
