import { expect } from 'vitest';
import { countAlive, WORKER_LIFETIME_MS } from '../../jobs/backlog.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';
import { openCalls, stopWorkers } from '../support/workers.ts';

const productOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

async function withoutWorkers(souk: Souk): Promise<void> {
  await stopWorkers(souk);
  for (const gateway of souk.gateways) await gateway.sampleBacklog();
}

test('a worker whose report has expired is alive again as soon as it reports', async ({
  souk,
  account,
  redis,
}) => {
  // The timer of the report runs at its own time, so the report is old when Redis has it.
  souk.clock.advance(4 * WORKER_LIFETIME_MS);
  await expect
    .poll(() => countAlive(redis, redisKeys(souk.redisNamespace), 'market', souk.clock.now()))
    .toBe(1);
  await souk.addGateway();
  const reply = await souk.clientOf(account.key, 1).get(productOf('B0PRESENT1'));
  expect([reply.status, reply.json.code]).toEqual([200, '0000']);
});

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
