import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSouk, type Souk } from '../support/souk.ts';

let souk: Souk;
beforeAll(async () => {
  souk = await openSouk();
  souk.upstream.on('product', ({ params }) => ({
    json: {
      products: (params.asin ?? '')
        .split(',')
        .map((asin) => ({ asin, domainId: 1, productType: 0, title: `T ${asin}`, csv: [] })),
    },
  }));
});
afterAll(() => souk.close());

test('answers', async () => {
  const client = await souk.client();
  const reply = await client.get('/api/market/product?domain=1&asins=B000000001,B000000002');
  expect(reply.json).toMatchObject({ code: '0000', data: { count: 2 } });
  expect(reply.headers['x-units-consumed']).toBe('2');
});
