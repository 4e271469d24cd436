import { describe, expect } from 'vitest';
import { UPSTREAM_KEY } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';
import { rows } from '../../support/words.ts';

/** Every marketplace operation with its address and aliases, a query, its price and a field. */
const CASES = rows(`
  variations                     | variations             | domain=1&asin=B0C3CDEF01&detailLevel=summary              | 5  | variations
  product finder                 | productfinder query    | selection={"domain":1,"current_SALES_lte":5000}           | 1  | asinList
  product finder with statistics | productfinder query    | selection={"domain":1,"current_SALES_lte":5000,"stats":1} | 31 | searchInsights
  product search                 | productsearch search   | domain=1&term=pump                                        | 5  | products
  category search                | categorysearch search  | type=category&domain=1&term=kitchen                       | 1  | categories
  category                       | category               | domain=1&category=0                                       | 1  | categories
  best sellers                   | bestseller bestsellers | domain=1&category=200000&perPage=10                       | 10 | bestSellersList
  sellers                        | seller                 | domain=1&seller=ABWRICYPI40AC8,AKT8ZJ45IBZW2X             | 2  | sellers
  storefront                     | seller                 | domain=1&seller=AKT8ZJ45IBZW2X&storefront=1               | 10 | sellers
  most rated sellers             | topseller              | domain=1&perPage=5                                        | 50 | sellerIdList
  deals                          | deal deals             | selection={"domainId":1}                                  | 5  | deals
`).map(([name = '', paths = '', query = '', units, field = '']) => ({
  name,
  paths: paths.split(' '),
  query: encodeURI(query),
  units: Number(units),
  field,
}));

test.override('demoSettings', { DEMO_TOKENS_PER_MINUTE: '100000' }).override('soukOptions', ({ demo }) => ({
  upstreamUrl: demo.url,
}));

describe.each(CASES)('$name', ({ paths: [path = '', ...aliases], query, units, field }) => {
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
});

test('returns the subcategories of a category for two units, ten for a token, and shares them with later calls', async ({
  client,
  demo,
}) => {
  const root = (await demo.get('category', { domain: 1, category: 0 })).json.categories;
  const [parent] = Object.values(root) as { catId: number; children: number[] }[];
  const { catId = 0, children = [] } = parent ?? {};
  const path = `/api/market/category?domain=1&category=${catId}&children=1`;
  const { headers, json } = await client.get(path);
  const unitsOf = (subcategories: number) => String(1 + Math.ceil(subcategories / 10));
  expect(headers['x-units-consumed']).toBe(unitsOf(children.length));
  expect(Object.keys(json.data.categories).sort()).toEqual([catId, ...children].map(String).sort());
  for (const { name } of Object.values(json.data.categories) as { name: string }[])
    expect(name).toMatch(/[a-z]/i);
  const left = async () => (await demo.get('token', { key: UPSTREAM_KEY })).json.tokensLeft;
  const before = await left();
  const [child = 0] = children;
  const shared = await client.get(`/api/market/category?domain=1&category=${child}&children=1`);
  // A leaf has none.
  const { children: below } = shared.json.data.categories[child];
  expect(shared.headers['x-units-consumed']).toBe(unitsOf(below?.length ?? 0));
  expect(before - (await left())).toBe(Math.ceil((below?.length ?? 0) / 10));
});
