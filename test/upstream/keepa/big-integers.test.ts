import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { test } from '../../support/souk-test.ts';

/** The largest 64-bit integer stands for the blank category; a double would make it ...6000. */
const BLANK = '9223372036854775807';

test.beforeEach(({ upstream }) => {
  upstream.on('product', ({ params }) => ({
    raw: `{"products":[{"asin":"${params.asin}","productType":0,"title":"T","rootCategory":${BLANK},
      "categoryTree":[{"catId": ${BLANK},"name":"?"}],"salesRanks":{"${BLANK}":[7000000,5]},"csv":null}]}`,
  }));
});

test('category ids beyond 2^53 keep all digits, from upstream and from the cache', async ({ souk }) => {
  const client = await souk.client();
  const another = await souk.client();
  const path = '/api/market/product?domain=1&asins=B000000001&detailLevel=full';
  const fetched = await client.get(path);
  const cached = await another.get(path);
  souk.clock.advance(1);
  const trimmed = await client.get(`${path}&days=30`);
  expect([fetched, cached, trimmed].map(({ headers }) => headers['x-cache'])).toEqual(['MISS', 'HIT', 'HIT']);
  for (const { body } of [fetched, cached, trimmed]) {
    expect(body.toString()).toContain(
      `"rootCategory":${BLANK},"categoryTree":[{"catId":${BLANK},"name":"?"}]`,
    );
    expect(body.toString()).toContain(`"salesRanks":{"${BLANK}":[7000000,5]}`);
  }
  expect(souk.upstream.callsTo('product')).toHaveLength(1);
});

test('category ids beyond 2^53 keep all digits after compression', async ({ souk }) => {
  const client = await souk.client();
  const asins = Array.from({ length: 100 }, (_, i) => `B0000001${String(i).padStart(2, '0')}`);
  souk.upstream.on('product', ({ params }) => ({
    raw: `{"products":[${(params.asin ?? '')
      .split(',')
      .map((asin) => `{"asin":"${asin}","title":"T","rootCategory":${BLANK}}`)
      .join()}]}`,
  }));
  const { headers, body } = await client.get(`/api/market/product?domain=1&asins=${asins.join()}`, {
    headers: { 'accept-encoding': 'gzip' },
  });
  expect(headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(body).toString().split(`"rootCategory":${BLANK}`)).toHaveLength(101);
});

const JSON_TYPE = { headers: { 'content-type': 'application/json' } };

/** As a double, the id would end in ...992. */
const ODD = '9007199254740993';

test.for([
  ['category', `category?domain=1&category=${BLANK}`, 'category', 1],
  ['best sellers', `bestseller?domain=1&category=${BLANK}`, 'bestsellers', 10],
])('%s takes category ids beyond 2^53 exactly', async ([_, address, path, units], { client, upstream }) => {
  upstream.on('category', () => ({ raw: `{"categories":{"${BLANK}":{"catId":${BLANK},"name":"?"}}}` }));
  upstream.on('bestsellers', () => ({ json: {} }));
  const reply = await client.get(`/api/market/${address}`);
  expect([reply.status, reply.headers['x-units-consumed']]).toEqual([200, String(units)]);
  expect(upstream.callsTo(String(path))[0]?.params.category).toBe(BLANK);
  expect(reply.body.toString()).toMatch(new RegExp(`"(?:catId|categoryId)":${BLANK}\\b`));
});

test.for([
  ['a JSON body', { body: `{"domainId":1,"includeCategories":[5,${ODD},"${BLANK}"]}` }],
  ['a selection', { selection: `{"domainId":1,"page":1,"includeCategories":["${BLANK}",${ODD},5]}` }],
] as const)('deals take category ids beyond 2^53 exactly in %s', async ([_, sent], { client, upstream }) => {
  upstream.on('deal', () => ({ json: { deals: { dr: [] } } }));
  const reply =
    'body' in sent
      ? await client.post('/api/market/deal', sent.body, JSON_TYPE)
      : await client.get(`/api/market/deal?selection=${encodeURIComponent(sent.selection)}`);
  expect(reply.status, reply.body.toString()).toBe(200);
  expect(upstream.callsTo('deal')[0]?.body).toContain(`"includeCategories":[5,${ODD},${BLANK}]`);
});

test('refuses a number that JSON cannot carry exactly with 400', async ({ client, upstream }) => {
  for (const number of [`${ODD}.0`, '1e19', '9223372036854775808'])
    for (const [path, body] of [
      ['deal', `{"domainId":1,"includeCategories":[${number}]}`],
      ['productfinder', `{"domain":1,"categories_include":[${number}]}`],
    ] as const) {
      const reply = await client.post(`/api/market/${path}`, body, JSON_TYPE);
      expect(reply.status, `${path} ${number}`).toBe(400);
    }
  expect(upstream.calls).toEqual([]);
});
