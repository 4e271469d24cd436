import { expect } from 'vitest';
import { everyProductWith } from '../../support/answers.ts';
import { asinsFrom, finished, linesOf, resultsOf, startBatch } from '../../support/batches.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const PRODUCT = '/api/market/product';

test.beforeEach(({ upstream }) => {
  upstream.on(
    'product',
    everyProductWith((asin) => ({
      title: `=Thing "${asin}"`,
      stats: { current: [100, 200, -1, 300], avg: [7] },
      description: 'x'.repeat(5_000),
    })),
  );
});

test('returns only selected fields, at the same price, without another fetch', async ({ souk, client }) => {
  const whole = await client.get(`${PRODUCT}?domain=1&asins=B0FIELDS01`);
  const part = await client.get(`${PRODUCT}?domain=1&asins=B0FIELDS01&fields=title,stats.current`);
  expect([whole, part].map(({ headers }) => headers['x-units-consumed'])).toEqual(['1', '1']);
  expect(part.json.data).toEqual({
    ...whole.json.data,
    fromCache: expect.any(Boolean),
    products: [
      {
        asin: 'B0FIELDS01',
        title: '=Thing "B0FIELDS01"',
        stats: { current: whole.json.data.products[0].stats.current },
      },
    ],
  });
  expect(part.body.length).toBeLessThan(1_500);
  const again = await client.post(PRODUCT, {
    country: 'us',
    asin: 'B0FIELDS01',
    fields: ['stats.current', 'title'],
  });
  expect(again.headers['x-deduplicated']).toBe('true');
  expect(await unitsUsed(client)).toBe(2);
  expect(souk.upstream.callsTo('product')).toHaveLength(1);
});

test('refuses a field that cannot exist before anything is charged', async ({ client }) => {
  const { status, json } = await client.get('/api/aba/rank?country=us&fields=rank,titel');
  expect([status, json.code]).toEqual([400, 'VALIDATION_FAILED']);
  expect(json.metadata?.errors).toMatchObject([
    { parameter: 'fields', problem: expect.stringContaining('"titel"') },
  ]);
  expect(await unitsUsed(client)).toBe(0);
});

test('selects fields in the items of a batch, which then has no table', async ({ client }) => {
  const asins = asinsFrom('B0BATCHF', 2);
  const params = { domain: 1, fields: 'title' };
  const batch = await startBatch(client, { operation: 'market.product', params, split: { asins } });
  await finished(client, batch);
  expect((await resultsOf(client, batch)).map(({ data }) => data.products)).toEqual(
    asins.map((asin) => [{ asin, title: `=Thing "${asin}"` }]),
  );
  const { status, json } = await client.get(`/api/batches/${batch.batchId}/results?format=csv`);
  expect([status, json.metadata?.errors]).toMatchObject([400, [{ parameter: 'format' }]]);
});

test('returns the same table for a call, its job and a batch, and escapes formulas', async ({ client }) => {
  const path = `${PRODUCT}?domain=1&asins=B0TABLE001&format=csv`;
  const reply = await client.get(path);
  expect(reply.headers['content-type']).toBe('text/csv; charset=utf-8');
  expect(reply.headers['x-units-consumed']).toBe('1');
  const [header, row, ...others] = reply.text.split('\n');
  expect(header).toMatch(/^asin,country,domainId,parentAsin,title,brand,currency,price,amazonPrice,/);
  expect(row).toMatch(/^B0TABLE001,us,1,,"'=Thing ""B0TABLE001""",,USD,2,1,/);
  expect(others).toEqual(['']);
  const joined = await client.get(path);
  expect([joined.headers['x-deduplicated'], joined.text]).toEqual(['true', reply.text]);
  const job = await client.get(`/api/jobs/${reply.headers['x-job-id']}/result`);
  expect([job.headers['content-type'], job.text]).toEqual(['text/csv; charset=utf-8', reply.text]);
  const batch = await startBatch(client, {
    operation: 'market.product',
    items: [{ domain: 1, asins: 'B0TABLE001' }],
  });
  await finished(client, batch);
  expect(linesOf(await client.get(`/api/batches/${batch.batchId}/results`))).toHaveLength(1);
  const table = await client.get(`/api/batches/${batch.batchId}/results?format=csv`);
  expect(table.text).toBe(`index,${header}\n0,${row}\n`);
});

test('keeps the filter format of the finder apart from that of its answer', async ({ souk, client }) => {
  souk.upstream.on('query', () => ({ json: { asinList: ['B0FORMAT01'], totalResults: 1 } }));
  const found = await client.post('/api/market/productfinder?format=csv', { domain: 1, format: ['Kindle'] });
  expect(found.text).toBe('position,asin,country\n1,B0FORMAT01,us\n');
  expect(JSON.parse(souk.upstream.callsTo('query').at(-1)?.body ?? '')).toMatchObject({ format: ['Kindle'] });
});
