import { expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';
import { openCalls, stopWorkers } from '../../support/workers.ts';

const pathOf = (count: number) =>
  `/api/market/product?domain=1&asins=${Array.from({ length: count }, newAsin).join(',')}`;

test.for(['', '&async=1'])(
  'refuses a call that costs more, without a charge, %s',
  async (suffix, { souk, client }) => {
    const reply = await client.get(`${pathOf(3)}&maxUnits=2${suffix}`);
    expect(reply.status).toBe(429);
    expect(reply.json).toEqual({
      code: 'QUOTA_MAX_UNITS',
      data: null,
      metadata: { needed: 3, maxUnits: 2 },
      msg: 'The call costs 3 units; maxUnits is 2.',
    });
    expect(reply.headers['x-units-consumed']).toBe('0');
    expect(await unitsUsed(client)).toBe(0);
    expect(await openCalls(souk)).toBe(0);
    expect(souk.upstream.calls).toEqual([]);
  },
);

test('refuses a call of one unit in words', async ({ client }) => {
  const { json } = await client.get(`${pathOf(1)}&maxUnits=0`);
  expect(json.msg).toBe('The call costs 1 unit; maxUnits is 0.');
});

test.for([3, 4, 1_000_000])('serves a call that costs at most %i units', async (maxUnits, { client }) => {
  const reply = await client.get(`${pathOf(3)}&maxUnits=${maxUnits}`);
  expect(reply.status).toBe(200);
  expect(reply.headers['x-units-consumed']).toBe('3');
});

test('reads maxUnits from the query of a POST', async ({ client }) => {
  const body = { domain: 1, asins: [newAsin(), newAsin()] };
  expect((await client.post('/api/market/product?maxUnits=1', body)).json.code).toBe('QUOTA_MAX_UNITS');
  expect((await client.post('/api/market/product?maxUnits=2', body)).status).toBe(200);
});

test('calls with different limits are identical', async ({ client }) => {
  const path = pathOf(2);
  await client.get(`${path}&maxUnits=2`);
  const again = await client.get(`${path}&maxUnits=9`);
  expect(again.headers).toMatchObject({ 'x-deduplicated': 'true', 'x-units-consumed': '0' });
});

test('limits the quote, or the exact price of a cached answer', async ({ souk, client }) => {
  const asin = newAsin();
  const path = `/api/market/variations?domain=1&asin=${asin}`;
  expect((await client.get(`${path}&maxUnits=4`)).json).toMatchObject({
    code: 'QUOTA_MAX_UNITS',
    metadata: { needed: 5, maxUnits: 4 },
  });
  // A product without variations costs one unit.
  expect((await (await souk.client()).get(path)).headers['x-units-consumed']).toBe('1');
  const reply = await client.get(`${path}&maxUnits=1`);
  expect([reply.status, reply.headers['x-units-consumed']]).toEqual([200, '1']);
});

test('a free operation accepts every limit', async ({ client }) => {
  expect((await client.get('/api/quota?maxUnits=0')).status).toBe(200);
});

test.for(['-1', 'much', '1.5', ''])('refuses ?maxUnits=%s and names it', async (maxUnits, { client }) => {
  for (const path of ['/api/quota?', `${pathOf(1)}&`]) {
    const reply = await client.get(`${path}maxUnits=${maxUnits}`);
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.metadata).toMatchObject({ errors: [{ parameter: 'maxUnits' }] });
  }
});

test('checks the key before the price and before the backlog', async ({ souk, client }) => {
  const stranger = souk.clientOf(`km_${'0'.repeat(32)}`);
  expect((await stranger.get(`${pathOf(2)}&maxUnits=1`)).json.code).toBe('4001');
  const { accountId, key } = await souk.account();
  await souk.database.query('update accounts set state = $2 where id = $1', [accountId, 'disabled']);
  const disabled = souk.clientOf(key);
  expect((await disabled.get(`${pathOf(2)}&maxUnits=1`)).json.code).toBe('4003');
  await stopWorkers(souk);
  for (const gateway of souk.gateways) await gateway.sampleBacklog();
  expect((await client.get(pathOf(1))).json.code).toBe('BUSY');
  expect((await disabled.get(pathOf(1))).json.code).toBe('4003');
  expect((await stranger.get(pathOf(1))).json.code).toBe('4001');
  await souk.addWorker();
});
