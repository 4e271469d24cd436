import { expect } from 'vitest';
import { knowsEveryProduct } from '../support/answers.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';
import { loseRedis } from '../support/workers.ts';

const productOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;
const loseAnswers = (souk: Souk) => loseRedis(souk, `${souk.redisNamespace}:answer:*`);
const loseCaches = async (souk: Souk) => {
  await loseAnswers(souk);
  await loseRedis(souk, `${souk.redisNamespace}:source:*`);
};

test('produces a paid answer that Redis lost again, at no charge', async ({ souk, client, upstream }) => {
  const first = await client.get(productOf('B0ANSWER01'));
  await loseCaches(souk);
  const again = await client.get(productOf('B0ANSWER01'));
  expect(again.status).toBe(200);
  expect(again.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(again.json).toEqual(first.json);
  expect(upstream.calls).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(1);
});

test('produces a cached answer that was lost once, not for every joined call', async ({
  souk,
  client,
  upstream,
}) => {
  await (await souk.client()).get(productOf('B0ANSWER02'));
  const cached = await client.get(productOf('B0ANSWER02'));
  expect(cached.headers).toMatchObject({ 'x-cache': 'HIT', 'x-units-consumed': '1' });
  await loseCaches(souk);
  const again = await client.get(productOf('B0ANSWER02'));
  expect(again.json.data.products).toEqual(cached.json.data.products);
  await loseRedis(souk, `${souk.redisNamespace}:source:*`);
  const third = await client.get(productOf('B0ANSWER02'));
  expect(third.headers).toMatchObject({ 'x-units-consumed': '0', 'x-deduplicated': 'true' });
  expect(third.body).toEqual(again.body);
  expect(upstream.calls).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(1);
});

test('produces the lost result of a job when a client polls it', async ({ souk, client }) => {
  const { headers } = await client.get(`${productOf('B0ANSWER03')}&async=1`);
  const result = `${headers.location}/result`;
  await client.get(`${headers.location}?wait=30`);
  const first = await client.get(result);
  await loseCaches(souk);
  souk.clock.advance(20 * 60_000);
  expect((await client.get(result)).status).toBe(202);
  await expect.poll(async () => (await client.get(result)).status).toBe(200);
  const again = await client.get(result);
  expect(again.json.data.products).toEqual(first.json.data.products);
  expect(await unitsUsed(client)).toBe(1);
});

test('an asynchronous call that joins a cached answer keeps its result after the cache entry ends', async ({
  souk,
  client,
}) => {
  await (await souk.client()).get(productOf('B0ANSWER04'));
  const cached = await client.get(productOf('B0ANSWER04'));
  const { headers } = await client.get(`${productOf('B0ANSWER04')}&async=1`);
  expect(headers['x-deduplicated']).toBe('true');
  // Only what is shared goes: the keys that do not belong to this call.
  const shared = `${souk.redisNamespace}:answer:{????????????????????????????????}*`;
  expect(await loseRedis(souk, shared)).toBeGreaterThan(0);
  const result = await client.get(`${headers.location}/result`);
  expect(result.status).toBe(200);
  expect(result.body).toEqual(cached.body);
});

test('returns an error if a lost answer cannot be produced, and the call stays paid', async ({
  souk,
  client,
  upstream,
}) => {
  await client.get(productOf('B0ANSWER05'));
  await loseCaches(souk);
  upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const again = await client.get(productOf('B0ANSWER05'));
  upstream.on('product', knowsEveryProduct);
  expect(again.status).toBe(502);
  expect(again.headers['x-units-consumed']).toBe('0');
  expect(await unitsUsed(client)).toBe(1);
  const third = await client.get(productOf('B0ANSWER05'));
  expect(third.status).toBe(200);
  expect(third.headers['x-units-consumed']).toBe('0');
});
