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
