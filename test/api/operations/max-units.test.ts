import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';
import { openCalls, stopWorkers } from '../../support/workers.ts';

let souk: Souk;
let client: Client;
beforeAll(async () => {
  souk = await openSouk();
  souk.upstream.on('product', knowsEveryProduct);
});
afterAll(() => souk.close());
beforeEach(async () => {
  souk.upstream.calls.length = 0;
  client = await souk.client();
});

const pathOf = (count: number) =>
  `/api/market/product?domain=1&asins=${Array.from({ length: count }, newAsin).join(',')}`;

test.each(['', '&async=1'])('a call that would cost more is refused and costs nothing %s', async (suffix) => {
  const reply = await client.get(`${pathOf(3)}&maxUnits=2${suffix}`);
  expect(reply.status).toBe(429);
  expect(reply.json).toEqual({
    ...{ code: 'QUOTA_MAX_UNITS', data: null, metadata: { needed: 3, maxUnits: 2 } },
    msg: 'The call costs 3 units; maxUnits is 2.',
  });
  expect(reply.headers['x-units-consumed']).toBe('0');
  expect(await unitsUsed(client)).toBe(0);
  expect(await openCalls(souk)).toBe(0);
  expect(souk.upstream.calls).toEqual([]);
});

test.each([3, 4, 1_000_000])('a call that costs no more than %i is done', async (maxUnits) => {
  const reply = await client.get(`${pathOf(3)}&maxUnits=${maxUnits}`);
  expect(reply.status).toBe(200);
  expect(reply.headers['x-units-consumed']).toBe('3');
});

test('it stands in the query of a POST, whose body holds what is asked', async () => {
  const body = { domain: 1, asins: [newAsin(), newAsin()] };
  expect((await client.post('/api/market/product?maxUnits=1', body)).json.code).toBe('QUOTA_MAX_UNITS');
  expect((await client.post('/api/market/product?maxUnits=2', body)).status).toBe(200);
});

test('it is no part of what is asked: with another limit the call is the same', async () => {
  const path = pathOf(2);
  await client.get(`${path}&maxUnits=2`);
  const again = await client.get(`${path}&maxUnits=9`);
  expect(again.headers).toMatchObject({ 'x-deduplicated': 'true', 'x-units-consumed': '0' });
});

test('what may cost less in the end counts with what it may cost, until the answer is at hand', async () => {
  const asin = newAsin();
  const path = `/api/market/variations?domain=1&asin=${asin}`;
  expect((await client.get(`${path}&maxUnits=4`)).json).toMatchObject({
    ...{ code: 'QUOTA_MAX_UNITS', metadata: { needed: 5, maxUnits: 4 } },
  });
  // A product without variations costs one unit.
  expect((await (await souk.client()).get(path)).headers['x-units-consumed']).toBe('1');
  const reply = await client.get(`${path}&maxUnits=1`);
  expect([reply.status, reply.headers['x-units-consumed']]).toEqual([200, '1']);
});

test('an operation without a price takes every limit', async () => {
  expect((await client.get('/api/quota?maxUnits=0')).status).toBe(200);
});

test.each(['-1', 'much', '1.5', ''])('?maxUnits=%s is refused, by name', async (maxUnits) => {
  for (const path of ['/api/quota?', `${pathOf(1)}&`]) {
    const reply = await client.get(`${path}maxUnits=${maxUnits}`);
    expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(reply.json.metadata).toMatchObject({ errors: [{ parameter: 'maxUnits' }] });
  }
});

test('the key is judged before the price, and before how busy the service is', async () => {
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
