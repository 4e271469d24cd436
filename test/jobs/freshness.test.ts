import { expect } from 'vitest';
import { test } from '../support/souk-test.ts';
import { leapAhead } from '../support/time.ts';
import { unitsUsed } from '../support/units.ts';

const MINUTE_MS = 60_000;

let lastAsin = 0;
function newProduct(): string {
  lastAsin += 1;
  return `/api/market/product?domain=1&asins=B0FRESH${String(lastAsin).padStart(3, '0')}`;
}

test('a cached answer serves for an hour and not a millisecond longer', async ({
  souk,
  client,
  upstream,
}) => {
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

test('update=0 goes upstream though the answer is cached, and asks upstream for a refresh', async ({
  client,
  upstream,
}) => {
  const path = newProduct();
  await client.get(path);
  const forced = await client.get(`${path}&update=0`);
  expect(forced.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'MISS' });
  expect(forced.json.data.fromCache).toBe(false);
  expect(upstream.calls.map(({ params }) => params.update)).toEqual([undefined, '0']);
});

test('update=0 joins an identical call of the last five minutes, and no longer', async ({
  souk,
  client,
  upstream,
}) => {
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

test('what update=0 has fetched serves everybody else', async ({ souk, client, upstream }) => {
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

test('update=N takes what is younger than N hours, but never older than the hour results are cached for', async ({
  souk,
  client,
  upstream,
}) => {
  const path = newProduct();
  await client.get(path);
  await leapAhead(souk, 59 * MINUTE_MS, ['market']);
  expect((await client.get(`${path}&update=1`)).headers['x-cache']).toBe('HIT');
  await leapAhead(souk, 2 * MINUTE_MS, ['market']);
  expect((await client.get(`${path}&update=24`)).headers['x-cache']).toBe('MISS');
  expect(upstream.calls).toHaveLength(2);
});
