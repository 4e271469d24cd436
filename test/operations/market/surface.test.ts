import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../support/client.ts';
import { type Demo, openDemo } from '../../support/demo-provider.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';

/** Every marketplace operation as a customer meets it: an address that works, its aliases, its price. */
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

const HOUR_MS = 3_600_000;

let demo: Demo;
let demoSouk: Souk;
beforeAll(async () => {
  demo = await openDemo({ DEMO_TOKENS_PER_MINUTE: '100000' });
  demoSouk = await openSouk({ upstreamUrl: demo.url });
});
afterAll(async () => {
  await demoSouk.close();
  await demo.close();
});

describe.each(CASES)('$name', ({ paths: [path = '', ...aliases], query, units, upstream, field }) => {
  const address = `/api/market/${path}?${query}`;

  test('answers, and charges its price', async () => {
    const client = await demoSouk.client();
    const { status, headers, json } = await client.get(address);
    expect({ status, code: json.code }).toEqual({ status: 200, code: '0000' });
    expect(json.data[field]).toBeDefined();
    expect(json.data).toHaveProperty('fromCache');
    expect(headers['x-units-consumed']).toBe(String(units));
    expect(await unitsUsed(client)).toBe(units);
  });

  test.each(aliases)('joins a call of its alias %s: same body, no charge', async (alias) => {
    const client = await demoSouk.client();
    const first = await client.get(address);
    const second = await client.get(`/api/market/${alias}?${query}`);
    expect(second.headers['x-deduplicated']).toBe('true');
    expect(second.body.equals(first.body)).toBe(true);
    expect(await unitsUsed(client)).toBe(units);
  });

  test('is charged again, from the cache, to another account', async () => {
    await (await demoSouk.client()).get(address);
    const other = await demoSouk.client();
    const { headers, json } = await other.get(address);
    expect(headers).toMatchObject({ 'x-cache': 'HIT', 'x-units-consumed': String(units) });
    expect(json.data.fromCache).toBe(true);
  });

  test('is refused without a key, and without enough units', async () => {
    const poor = await demoSouk.client({ plan: { dailyLimit: Math.max(1, units - 1) } });
    expect((await poor.raw(address)).json.code).toBe('4001');
    if (units > 1) {
      const refused = await poor.get(address);
      expect(refused.status).toBe(429);
      expect(refused.json.code).toBe('QUOTA_INSUFFICIENT_UNITS');
    }
    expect((await (await demoSouk.client({ plan: null })).get(address)).json.code).toBe(
      'QUOTA_NO_SUBSCRIPTION',
    );
  });

  describe('with an upstream that fails', () => {
    let souk: Souk;
    let client: Client;
    beforeAll(async () => {
      souk = await openSouk();
      client = await souk.client();
    });
    afterAll(() => souk.close());

    test('answers 502 with an error id and refunds when upstream refuses', async () => {
      souk.upstream.on(upstream, () => ({
        status: 200,
        json: { error: { type: 'invalidParameter', message: 'no' } },
      }));
      const { status, json } = await client.get(address);
      expect(status).toBe(502);
      expect(json).toMatchObject({ code: 'UPSTREAM_ERROR', metadata: { errorId: expect.any(String) } });
      expect(await unitsUsed(client)).toBe(0);
    });

    test('answers 504, hangs up and refunds when upstream never answers', async () => {
      souk.upstream.on(upstream, () => new Promise<never>(() => {}));
      const before = souk.upstream.callsTo(upstream).length;
      const reply = client.get(address);
      await souk.upstream.received(before + 1, upstream);
      // Just the pool's timeout: a little later the caller would be told to come back.
      souk.clock.advance(path === 'seller' && units === 10 ? 120_000 : 60_000);
      const { status, json } = await reply;
      expect({ status, code: json.code }).toEqual({ status: 504, code: 'UPSTREAM_TIMEOUT' });
      await expect.poll(() => souk.upstream.callsTo(upstream).at(-1)?.aborted).toBe(true);
      expect(await unitsUsed(client)).toBe(0);
    });
  });
});

test('data are asked for again after an hour', async () => {
  const client = await demoSouk.client();
  const address = '/api/market/category?domain=2&category=0';
  await client.get(address);
  demoSouk.clock.advance(HOUR_MS + 1000);
  const { headers, json } = await client.get(address);
  expect(headers).toMatchObject({ 'x-cache': 'MISS', 'x-units-consumed': '1' });
  expect(json.data.fromCache).toBe(false);
});
