import sharp from 'sharp';
import { expect } from 'vitest';
import { showLogOnFailure } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url }));
test.beforeEach(({ souk }) => showLogOnFailure(souk));

test('Souk returns a product batch with prices, families and errors', async ({ client, demo }) => {
  const asins = 'B0AA11BB22,B0CC11BB22,ZZ00000001,ZX00000001';
  const reply = await client.get(`/api/market/product?country=us&asins=${asins}&detailLevel=full&stats=30`);
  expect(reply.status).toBe(200);
  expect(reply.headers['x-units-consumed']).toBe('4');
  const { data } = reply.json;
  expect(data).toMatchObject({ country: 'us', count: 2 });
  expect(data.errors.map(({ asin }: { asin: string }) => asin).sort()).toEqual(['ZX00000001', 'ZZ00000001']);
  const upstream = await demo.get('product', { domain: 1, asin: 'B0AA11BB22', stats: 30 });
  const found = data.products.find(({ asin }: { asin: string }) => asin === 'B0AA11BB22');
  const { title, parentAsin, csv, stats } = upstream.json.products[0];
  expect(found).toMatchObject({ title, parentAsin, csv });
  expect(found.stats.current).toEqual(stats.current);
});

test('Souk returns the lightning deal of one ASIN', async ({ client, demo }) => {
  const { json } = await demo.get('lightningdeal', { domain: 1, asin: 'B0AA11BB22' });
  const reply = await client.get('/api/market/lightningdeal?domain=1&asin=b0aa11bb22');
  expect(reply.status).toBe(200);
  expect(reply.json.data.lightningDeals).toHaveLength(json.lightningDeals.length);
  expect(reply.headers['x-units-consumed']).toBe('1');
});

test('Souk returns the whole list of a site, compressed or not', async ({ client, demo }) => {
  const reply = await client.get('/api/market/lightningdeal?domain=1');
  expect(reply.status).toBe(200);
  expect(reply.headers['x-units-consumed']).toBe('500');
  const upstream = await demo.get('lightningdeal', { domain: 1 });
  expect(reply.json.data.lightningDeals.map(({ asin }: { asin: string }) => asin)).toEqual(
    upstream.json.lightningDeals.map(({ asin }: { asin: string }) => asin),
  );
  const packed = await client.get('/api/market/lightningdeal?domain=1', {
    headers: { 'accept-encoding': 'gzip' },
  });
  expect(packed.headers['content-encoding']).toBe('gzip');
  expect(packed.body.length).toBeLessThan(reply.body.length / 3);
});

test('Souk returns a picture of the requested size', async ({ client }) => {
  const reply = await client.get(
    '/api/market/graphimage?domain=1&asin=B0AA11BB22&width=640&height=320&bb=1&cretailer=ff0000',
  );
  expect([reply.status, reply.headers['content-type'], reply.headers['x-cache']]).toEqual([
    200,
    'image/png',
    'MISS',
  ]);
  expect(await sharp(reply.body).metadata()).toMatchObject({ format: 'png', width: 640, height: 320 });
});

test('Souk returns the subcategories of a category for two units, ten for a token, and shares them with later calls', async ({
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
  const left = async () => (await demo.get('token')).json.tokensLeft;
  const before = await left();
  const [child = 0] = children;
  const shared = await client.get(`/api/market/category?domain=1&category=${child}&children=1`);
  // A leaf has none.
  const { children: below } = shared.json.data.categories[child];
  expect(shared.headers['x-units-consumed']).toBe(unitsOf(below?.length ?? 0));
  expect(before - (await left())).toBe(Math.ceil((below?.length ?? 0) / 10));
});
