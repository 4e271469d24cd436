import { expect } from 'vitest';
import { toKeepaMinutes } from '../../src/operations/products/history.ts';
import { MINUTE_MS } from '../../src/platform/durations.ts';
import { test } from '../support/souk-test.ts';
import { leapAhead } from '../support/time.ts';
import { unitsUsed } from '../support/units.ts';

let lastAsin = 0;
function newProduct(): string {
  lastAsin += 1;
  return `/api/market/product?domain=1&asins=B0FRESH${String(lastAsin).padStart(3, '0')}`;
}

test('serves a cached answer for exactly one hour', async ({ souk, client, upstream }) => {
  const path = newProduct();
  await client.get(path);
  await leapAhead(souk, 60 * MINUTE_MS - 1, ['market']);
  expect((await client.get(path)).headers['x-cache']).toBe('HIT');
  await leapAhead(souk, 6 * MINUTE_MS, ['market']);
  const fresh = await client.get(path);
  expect(fresh.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'MISS' });
  expect(fresh.json.data.fromCache).toBe(false);
  expect(upstream.calls).toHaveLength(2);
});

test('update=0 fetches although an answer is cached, asks for a refresh', async ({ client, upstream }) => {
  const path = newProduct();
  await client.get(path);
  const forced = await client.get(`${path}&update=0`);
  expect(forced.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'MISS' });
  expect(forced.json.data.fromCache).toBe(false);
  expect(upstream.calls.map(({ params }) => params.update)).toEqual([undefined, '0']);
});

test('update=0 joins an identical call for exactly five minutes', async ({ souk, client, upstream }) => {
  const path = `${newProduct()}&update=0`;
  await client.get(path);
  souk.clock.advance(299_999);
  const joined = await client.get(path);
  expect(joined.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(upstream.calls).toHaveLength(1);
  await leapAhead(souk, 1, ['market']);
  expect((await client.get(path)).headers['x-units-consumed']).toBe('1');
  expect(upstream.calls).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(2);
});

test('data that update=0 has fetched serve calls of other accounts', async ({ souk, client, upstream }) => {
  const path = newProduct();
  await client.get(path);
  souk.clock.advance(30 * MINUTE_MS);
  await souk.addWorker(['market']);
  await client.get(`${path}&update=0`);
  await leapAhead(souk, 45 * MINUTE_MS, ['market']);
  const other = await souk.client();
  expect((await other.get(path)).headers['x-cache']).toBe('HIT');
  expect(upstream.calls).toHaveLength(2);
});

test('update=N accepts cached answers under N hours, at most one', async ({ souk, client, upstream }) => {
  const path = newProduct();
  await client.get(path);
  await leapAhead(souk, 59 * MINUTE_MS, ['market']);
  expect((await client.get(`${path}&update=1`)).headers['x-cache']).toBe('HIT');
  await leapAhead(souk, 2 * MINUTE_MS, ['market']);
  expect((await client.get(`${path}&update=24`)).headers['x-cache']).toBe('MISS');
  expect(upstream.calls).toHaveLength(2);
});

test("update=N counts from the provider's last update, as it returns it now", async ({ souk, upstream }) => {
  const updatedAt = new Map<string, number>();
  upstream.on('product', ({ params }) => ({
    json: {
      products: (params.asin ?? '').split(',').map((asin) => {
        const lastUpdate = toKeepaMinutes(updatedAt.get(asin) ?? souk.clock.now());
        return { asin, productType: 0, title: asin, lastUpdate };
      }),
    },
  }));
  const path = newProduct();
  const [old, recent] = [path.slice(-10), newProduct().slice(-10)] as const;
  updatedAt.set(old, souk.clock.now() - 90 * MINUTE_MS);
  const ask = async (rest: string) => {
    souk.clock.advance(1);
    return (await (await souk.client()).get(`/api/market/product?domain=1&asins=${rest}`)).headers['x-cache'];
  };
  expect(await ask(`${old},${recent}`)).toBe('MISS');
  expect(await ask(`${old},${recent}&update=2`)).toBe('HIT');
  // Neither the answer nor the source of the old product is young enough. The provider has no newer data.
  expect(await ask(`${old},${recent}&update=1`)).toBe('MISS');
  expect(await ask(`${old}&update=1`)).toBe('MISS');
  expect(await ask(`${recent}&update=1`)).toBe('HIT');
  expect(await ask(old)).toBe('HIT');
  expect(upstream.calls.map(({ params }) => params.asin)).toEqual([`${old},${recent}`, old, old]);
});
