import { expect } from 'vitest';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

test.override('soukOptions', { gateways: 3, workers: 2 });

test("two accounts never join each other's calls, and share fetched data", async ({ souk, upstream }) => {
  const path = '/api/market/product?domain=1&asins=B0SHARED01';
  const [one, two] = [await souk.client(), await souk.client()];
  const first = await one.get(path);
  const second = await two.get(path);
  expect(second.headers).toMatchObject({ 'x-units-consumed': '1', 'x-cache': 'HIT' });
  expect(second.headers).not.toHaveProperty('x-deduplicated');
  expect(second.headers['x-job-id']).not.toBe(first.headers['x-job-id']);
  expect(second.json.data).toEqual({ ...first.json.data, fromCache: true });
  expect(upstream.callsTo('product')).toHaveLength(1);
  expect([await unitsUsed(one), await unitsUsed(two)]).toEqual([1, 1]);
});

test('a hundred identical calls of five accounts over three gateways cause one upstream call and one charge per account', async ({
  souk,
  upstream,
}) => {
  const path = '/api/market/product?domain=1&asins=B0SHARED03,B0SHARED04';
  const accounts = await Promise.all([0, 1, 2, 3, 4].map(() => souk.account()));
  // Twenty calls of each account, spread over the gateways.
  const replies = await Promise.all(
    accounts.flatMap(({ key }) => Array.from({ length: 20 }, (_, i) => souk.clientOf(key, i % 3).get(path))),
  );
  expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([200]));
  expect(replies.filter((reply) => reply.headers['x-units-consumed'] === '2')).toHaveLength(5);
  expect(replies.filter((reply) => reply.headers['x-deduplicated'] === 'true')).toHaveLength(95);
  expect(upstream.callsTo('product')).toHaveLength(1);
  for (const { key } of accounts) expect(await unitsUsed(souk.clientOf(key))).toBe(2);
});
