import { describe, expect } from 'vitest';
import { HOUR_MS } from '../../../src/platform/durations.ts';
import { openSouk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';
import { rows } from '../../support/words.ts';

/** Every marketplace operation with its address and aliases, a query, its price, its call upstream and a field. */
const CASES = rows(`
  variations                     | variations             | domain=1&asin=B0C3CDEF01&detailLevel=summary              | 5  | product     | variations
  product finder                 | productfinder query    | selection={"domain":1,"current_SALES_lte":5000}           | 1  | query       | asinList
  product finder with statistics | productfinder query    | selection={"domain":1,"current_SALES_lte":5000,"stats":1} | 31 | query       | searchInsights
  product search                 | productsearch search   | domain=1&term=pump                                        | 5  | search      | products
  category search                | categorysearch search  | type=category&domain=1&term=kitchen                       | 1  | search      | categories
  category                       | category               | domain=1&category=0                                       | 1  | category    | categories
  best sellers                   | bestseller bestsellers | domain=1&category=200000&perPage=10                       | 10 | bestsellers | bestSellersList
  sellers                        | seller                 | domain=1&seller=ABWRICYPI40AC8,AKT8ZJ45IBZW2X             | 2  | seller      | sellers
  storefront                     | seller                 | domain=1&seller=AKT8ZJ45IBZW2X&storefront=1               | 10 | seller      | sellers
  most rated sellers             | topseller              | domain=1&perPage=5                                        | 50 | topseller   | sellerIdList
  deals                          | deal deals             | selection={"domainId":1}                                  | 5  | deal        | deals
`).map(([name = '', paths = '', query = '', units, upstream = '', field = '']) => ({
  name,
  paths: paths.split(' '),
  query: encodeURI(query),
  units: Number(units),
  upstream,
  field,
}));

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
