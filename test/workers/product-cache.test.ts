import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { holdProducts } from '../support/answers.ts';
import { asins } from '../support/parameters.ts';
import { PLENTY, type ScriptedUpstream } from '../support/scripted-upstream.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { workers: 2 });
test.beforeEach(({ souk }) => souk.clock.advance(1));

const askedFor = (upstream: ScriptedUpstream) =>
  upstream.calls.flatMap(({ params }) => params.asin?.split(',') ?? []);

/** Each test has its own site, so that it finds no cached data of another test. */
const lookUp = (domain: number, wanted: readonly string[]) => ({ domain, asins: wanted });

test('fetches ten and charges a hundred for a hundred ASINs of which ninety are cached', async ({
  souk,
  upstream,
}) => {
  const client = await souk.client();
  const all = asins(100);
  await client.post('/api/market/product', lookUp(1, all.slice(0, 90)));
  souk.clock.advance(1);
  upstream.calls.length = 0;
  const reply = await client.post('/api/market/product', lookUp(1, all));
  expect(reply.json.data.count).toBe(100);
  expect(reply.headers).toMatchObject({ 'x-units-consumed': '100', 'x-cache': 'MISS' });
  expect(askedFor(upstream)).toEqual(all.slice(90));
});

test('asks upstream once for each product of overlapping concurrent calls', async ({ souk, upstream }) => {
  const open = holdProducts(upstream);
  const all = asins(100);
  const clients = await Promise.all(
    [0, 20, 40, 60, 10, 30].map(async (from) => ({ from, client: await souk.client() })),
  );
  const replies = clients.map(({ from, client }) =>
    client.post('/api/market/product', lookUp(2, all.slice(from, from + 40))),
  );
  // Together the calls need every product, so all calls end once every product has been requested.
  await expect.poll(() => new Set(askedFor(upstream)).size).toBe(100);
  open();
  for (const reply of await Promise.all(replies)) expect(reply.json.data.count).toBe(40);
  expect(askedFor(upstream).sort((a, b) => a.localeCompare(b))).toEqual(all);
});

test('fetches the same product again for other options', async ({ souk, upstream }) => {
  const client = await souk.client();
  const [asin] = asins(1);
  await client.get(`/api/market/product?domain=3&asins=${asin}`);
  await client.get(`/api/market/product?domain=3&asins=${asin}&rating=1`);
  await client.get(`/api/market/product?domain=4&asins=${asin}`);
  expect(upstream.calls.map(({ params }) => [params.domain, params.rating])).toEqual([
    ['3', undefined],
    ['3', '1'],
    ['4', undefined],
  ]);
});

test('serves options that only trim the answer from the cache', async ({ souk, upstream }) => {
  const client = await souk.client();
  const path = `/api/market/product?domain=5&asins=${asins(3).join(',')}`;
  await client.get(path);
  for (const trimmed of [
    'detailLevel=summary&rating=0',
    'detailLevel=full',
    'days=30',
    'dateRangeStart=1&dateRangeEnd=2',
  ]) {
    souk.clock.advance(1);
    const reply = await client.get(`${path}&${trimmed}`);
    expect(reply.headers).toMatchObject({ 'x-units-consumed': '3', 'x-cache': 'HIT' });
    expect(reply.json.data.fromCache).toBe(true);
  }
  expect(upstream.calls).toHaveLength(1);
});

test('remembers an unknown product for a minute, not for an hour', async ({ souk, upstream }) => {
  upstream.on('product', () => ({ json: { products: [{ asin: 'B000000000', title: 'Known', csv: [] }] } }));
  const path = `/api/market/product?domain=6&asins=${asins(2).join(',')}`;
  const first = await (await souk.client()).get(path);
  expect(first.json.data.errors).toEqual([{ asin: 'B000000001', errorId: 'PRODUCT_NOT_FOUND' }]);
  souk.clock.advance(1);
  await (await souk.client()).get(path);
  expect(upstream.calls).toHaveLength(1);
});

test('reads a cached product from a compressed answer like from a new one', async ({ souk, upstream }) => {
  const short = [1, 2].map((n) => ({
    asin: `B00000000${n}`,
    title: 'Thing',
    csv: [[7_000_000, n]],
    id: 2 ** 60,
  }));
  upstream.on('product', ({ params }) => ({
    raw: gzipSync(
      JSON.stringify({ ...PLENTY, products: short.filter(({ asin }) => params.asin?.includes(asin)) }),
    ),
    headers: { 'content-encoding': 'gzip' },
  }));
  const client = await souk.client();
  const product = async (asin: string) => {
    souk.clock.advance(1);
    const { json, headers } = await client.get(`/api/market/product?domain=8&asins=${asin}&detailLevel=full`);
    return { products: json.data.products, cache: headers['x-cache'] };
  };
  const [first, second] = short.map(({ asin }) => asin) as [string, string];
  await client.get(`/api/market/product?domain=8&asins=${first}`);
  await client.get(`/api/market/product?domain=9&asins=${first},${second}&detailLevel=full`);
  const together = await client.get(`/api/market/product?domain=9&asins=${first}&detailLevel=full`);
  expect(await product(first)).toEqual({ products: together.json.data.products, cache: 'HIT' });
  expect(upstream.calls).toHaveLength(2);
  expect(together.json.data.products[0].csv).toHaveLength(36);
});
