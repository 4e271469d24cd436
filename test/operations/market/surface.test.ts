import { describe, expect } from 'vitest';
import { HOUR_MS } from '../../../src/platform/durations.ts';
import { openSouk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

/** Every marketplace operation with a valid address, its aliases and its price. */
const CASES: {
  name: string;
  paths: string[];
  query: string;
  units: number;
  upstream: string;
  field: string;
}[] = [
  {
    name: 'variations',
    paths: ['variations'],
    query: 'domain=1&asin=B0C3CDEF01&detailLevel=summary',
    units: 5,
    upstream: 'product',
    field: 'variations',
  },
  {
    name: 'product finder',
    paths: ['productfinder', 'query'],
    query: `selection=${encodeURIComponent('{"domain":1,"current_SALES_lte":5000}')}`,
    units: 1,
    upstream: 'query',
    field: 'asinList',
  },
  {
    name: 'product finder with statistics',
    paths: ['productfinder', 'query'],
    query: `selection=${encodeURIComponent('{"domain":1,"current_SALES_lte":5000,"stats":1}')}`,
    units: 31,
    upstream: 'query',
    field: 'searchInsights',
  },
  {
    name: 'product search',
    paths: ['productsearch', 'search'],
    query: 'domain=1&term=pump',
    units: 5,
    upstream: 'search',
    field: 'products',
  },
  {
    name: 'category search',
    paths: ['categorysearch', 'search'],
    query: 'type=category&domain=1&term=kitchen',
    units: 1,
    upstream: 'search',
    field: 'categories',
  },
  {
    name: 'category',
    paths: ['category'],
    query: 'domain=1&category=0',
    units: 1,
    upstream: 'category',
    field: 'categories',
  },
  {
    name: 'best sellers',
    paths: ['bestseller', 'bestsellers'],
    query: 'domain=1&category=200000&perPage=10',
    units: 10,
    upstream: 'bestsellers',
    field: 'bestSellersList',
  },
  {
    name: 'sellers',
    paths: ['seller'],
    query: 'domain=1&seller=ABWRICYPI40AC8,AKT8ZJ45IBZW2X',
    units: 2,
    upstream: 'seller',
    field: 'sellers',
  },
  {
    name: 'storefront',
    paths: ['seller'],
    query: 'domain=1&seller=AKT8ZJ45IBZW2X&storefront=1',
    units: 10,
    upstream: 'seller',
    field: 'sellers',
  },
  {
    name: 'most rated sellers',
    paths: ['topseller'],
    query: 'domain=1&perPage=5',
    units: 50,
    upstream: 'topseller',
    field: 'sellerIdList',
  },
  {
    name: 'deals',
    paths: ['deal', 'deals'],
    query: `selection=${encodeURIComponent('{"domainId":1}')}`,
    units: 5,
    upstream: 'deal',
    field: 'deals',
  },
];

const test = base
  .override('demoSettings', { DEMO_TOKENS_PER_MINUTE: '100000' })
  .override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url }))
  /** A service whose upstream the tests script, alongside `souk`, which asks the demo provider. */
  .extend('failing', { scope: 'file' }, async ({ soukOptions: _ }, { onCleanup }) => {
    const failing = await openSouk();
    onCleanup(() => failing.close());
    return failing;
  });

describe.each(CASES)('$name', ({ paths: [path = '', ...aliases], query, units, upstream, field }) => {
  const address = `/api/market/${path}?${query}`;

  test('returns 200 and charges its price', async ({ souk }) => {
    const client = await souk.client();
    const { status, headers, json } = await client.get(address);
    expect({ status, code: json.code }).toEqual({ status: 200, code: '0000' });
    expect(json.data[field]).toBeDefined();
    expect(json.data).toHaveProperty('fromCache');
    expect(headers['x-units-consumed']).toBe(String(units));
    expect(await unitsUsed(client)).toBe(units);
  });

  test.for(aliases)('joins a call of its alias %s: same body, no charge', async (alias, { souk }) => {
    const client = await souk.client();
    const first = await client.get(address);
    const second = await client.get(`/api/market/${alias}?${query}`);
    expect(second.headers['x-deduplicated']).toBe('true');
    expect(second.body.equals(first.body)).toBe(true);
    expect(await unitsUsed(client)).toBe(units);
  });

  test('charges another account for the cached answer', async ({ souk }) => {
    await (await souk.client()).get(address);
    const other = await souk.client();
    const { headers, json } = await other.get(address);
    expect(headers).toMatchObject({ 'x-cache': 'HIT', 'x-units-consumed': String(units) });
    expect(json.data.fromCache).toBe(true);
  });

  test('refuses a call without a key or without enough units', async ({ souk }) => {
    const poor = await souk.client({ plan: { dailyLimit: Math.max(1, units - 1) } });
    expect((await poor.raw(address)).json.code).toBe('4001');
    if (units > 1) {
      const refused = await poor.get(address);
      expect(refused.status).toBe(429);
      expect(refused.json.code).toBe('QUOTA_INSUFFICIENT_UNITS');
    }
    expect((await (await souk.client({ plan: null })).get(address)).json.code).toBe('QUOTA_NO_SUBSCRIPTION');
  });

  describe('with an upstream that fails', () => {
    test('returns 502 with an error id and releases the units if upstream refuses', async ({ failing }) => {
      const client = await failing.client();
      failing.upstream.on(upstream, () => ({
        status: 200,
        json: { error: { type: 'invalidParameter', message: 'no' } },
      }));
      const { status, json } = await client.get(address);
      expect(status).toBe(502);
      expect(json).toMatchObject({ code: 'UPSTREAM_ERROR', metadata: { errorId: expect.any(String) } });
      expect(await unitsUsed(client)).toBe(0);
    });

    test('returns 504, closes the upstream connection and releases the units if upstream never answers', async ({
      failing,
    }) => {
      const client = await failing.client();
      failing.upstream.on(upstream, () => new Promise<never>(() => {}));
      failing.upstream.calls.length = 0;
      const reply = client.get(address);
      await failing.upstream.received(1, upstream);
      // Exactly the pool's timeout. Slightly later the caller would receive the job.
      failing.clock.advance(path === 'seller' && units === 10 ? 120_000 : 60_000);
      const { status, json } = await reply;
      expect({ status, code: json.code }).toEqual({ status: 504, code: 'UPSTREAM_TIMEOUT' });
      await failing.upstream.abandoned(1);
      expect(await unitsUsed(client)).toBe(0);
    });
  });
});

test('fetches data again after an hour', async ({ souk }) => {
  const client = await souk.client();
  const address = '/api/market/category?domain=2&category=0';
  await client.get(address);
  souk.clock.advance(HOUR_MS + 1000);
  const { headers, json } = await client.get(address);
  expect(headers).toMatchObject({ 'x-cache': 'MISS', 'x-units-consumed': '1' });
  expect(json.data.fromCache).toBe(false);
});
