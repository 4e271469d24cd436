import { inflateRawSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { readSheet } from 'read-excel-file/node';
import { request } from 'undici';
import { expect } from 'vitest';
import { mediaTypeOf } from '../../../src/operations/tables/formats.ts';
import { drawsPictures, everyProductWith, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { asinsFrom, batchOnce, finished, linesOf, resultsOf, startBatch } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { test as base } from '../../support/souk-test.ts';

/** `held`: upstream delays the calls of the test, and answers a call when the test names its first ASIN. */
const test = base.extend('held', ({ upstream }, { onCleanup }) => {
  const held = new Map<string, () => void>();
  upstream.on('product', async (call, response) => {
    const [asin = ''] = (call.params.asin ?? '').split(',');
    await new Promise<void>((resolve) => held.set(asin, resolve));
    return knowsEveryProduct(call, response);
  });
  onCleanup(() => {
    for (const release of held.values()) release();
  });
  return held;
});

// A first answer of upstream, so that the number of tokens is known.
test.beforeAll(async ({ souk }) => {
  await (await souk.client()).get(`/api/market/product?domain=1&asins=${newAsin()}`);
});
const operation = 'market.product';
const split = (asins: readonly string[], params: object = {}) => ({
  operation,
  params: { domain: 1, ...params },
  split: { asins },
});
/** A batch with two items for each call. */
const inPairs = (asins: readonly string[]) => ({
  operation,
  items: asins.map((asin, i) => ({ domain: 1, asin, history: (i >> 1) % 2 })),
});

const indexesOf = async (client: Client, batch: { batchId: string }, query = '') =>
  (await resultsOf(client, batch, query)).map(({ index }) => index);

test('has results as they finish, or in item order up to a gap', async ({ souk, client, held }) => {
  const asins = asinsFrom('B0ORDER', 6);
  const batch = await startBatch(client, inPairs(asins));
  await souk.upstream.received(3);
  expect([...held.keys()].sort()).toEqual([asins[0], asins[2], asins[4]]);
  expect(await indexesOf(client, batch)).toEqual([]);
  held.get(asins[4] ?? '')?.();
  await batchOnce(souk, client, batch, ({ counts }) => counts.done === 2, 10);
  expect(await indexesOf(client, batch)).toEqual([]);
  expect(await indexesOf(client, batch, '?order=finished')).toEqual([4, 5]);
  held.get(asins[0] ?? '')?.();
  await batchOnce(souk, client, batch, ({ counts }) => counts.done === 4, 10);
  expect(await indexesOf(client, batch)).toEqual([0, 1]);
  expect(await indexesOf(client, batch, '?order=finished')).toEqual([4, 5, 0, 1]);
  const path = `/api/batches/${batch.batchId}/results`;
  expect((await client.get(path)).headers['x-batch-finished']).toBe('false');
  held.get(asins[2] ?? '')?.();
  await finished(client, batch);
  expect(await indexesOf(client, batch)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(await indexesOf(client, batch, '?order=finished')).toEqual([4, 5, 0, 1, 2, 3]);
  expect((await client.get(path)).headers['x-batch-finished']).toBe('true');
  // A cursor continues after any line, also in the middle of a call, in either order.
  for (const order of ['item', 'finished']) {
    const all = await indexesOf(client, batch, `?order=${order}`);
    for (const [i, cursor] of all.entries())
      expect(await indexesOf(client, batch, `?order=${order}&cursor=${cursor}`)).toEqual(all.slice(i + 1));
  }
});

test('keeps a stable order for calls that end together in a cancellation', async ({ client, held: _ }) => {
  const asins = asinsFrom('B0CANORD', 6);
  const batch = await startBatch(client, { ...inPairs(asins), window: 'off_peak' });
  await client.get(`/api/batches/${batch.batchId}`, { method: 'DELETE' });
  await finished(client, batch);
  const all = await indexesOf(client, batch, '?order=finished');
  expect(all).toEqual([0, 1, 2, 3, 4, 5]);
  expect(await indexesOf(client, batch, '?order=finished&cursor=2')).toEqual([3, 4, 5]);
});

test('sends gzip to clients that accept it, and the same text to others', async ({ client }) => {
  const batch = await startBatch(client, split(asinsFrom('B0GZIP', 150)));
  await finished(client, batch);
  const path = `/api/batches/${batch.batchId}/results`;
  const plain = await client.get(path, { headers: { 'accept-encoding': 'identity' } });
  const zipped = await client.get(path, { headers: { 'accept-encoding': 'gzip' } });
  expect(plain.headers).not.toHaveProperty('content-encoding');
  expect(plain.headers).toMatchObject({
    'content-type': 'application/x-ndjson',
    vary: expect.stringMatching(/accept-encoding/i),
  });
  expect(zipped.headers).toMatchObject({
    'content-encoding': 'gzip',
    vary: expect.stringMatching(/accept-encoding/i),
  });
  expect(zipped.body.length).toBeLessThan(plain.body.length / 4);
  expect(zipped.text).toBe(plain.text);
  // Browsers read only the first gzip member.
  expect(inflateRawSync(zipped.body.subarray(10, -8)).equals(plain.body)).toBe(true);
  expect(linesOf(plain)).toHaveLength(150);
});

test('returns flat results as CSV, without failed items', async ({ souk, client }) => {
  const asins = asinsFrom('B0CSV', 3);
  souk.upstream.on('product', ({ params }) => ({
    json: {
      products: (params.asin ?? '')
        .split(',')
        .filter((asin) => asin !== asins[1])
        .map((asin) => ({ asin, productType: 0, title: `=Thing, "${asin}"`, brand: 'Acme', csv: [] })),
    },
  }));
  const batch = await startBatch(client, split(asins, { detailLevel: 'summary' }));
  await finished(client, batch);
  const reply = await client.get(`/api/batches/${batch.batchId}/results?format=csv`);
  expect(reply.headers['content-type']).toBe('text/csv; charset=utf-8');
  const [header = '', ...rows] = reply.text.trimEnd().split('\n');
  expect(header).toMatch(/^index,asin,/);
  expect(header).toContain(',title,');
  expect(rows.map((row) => row.split(',').slice(0, 2))).toEqual([
    ['0', asins[0]],
    ['2', asins[2]],
  ]);
  expect(rows[0]).toContain(`"'=Thing, ""${asins[0]}"""`);
});

test.for(['summary', 'lite', 'full'])(
  'has empty cells without data at detailLevel=%s, with and without decode=1',
  async (detailLevel, { souk, client }) => {
    const current = Array.from({ length: 20 }, () => -1);
    souk.upstream.on('product', ({ params }) => ({
      json: { products: [{ asin: params.asin, productType: 0, title: 'Thing', stats: { current } }] },
    }));
    const cellsWith = async (params: object) => {
      const asins = [newAsin()];
      const wish = { detailLevel, rating: true, buybox: true, ...params };
      const batch = await startBatch(client, split(asins, wish));
      await finished(client, batch);
      const results = `/api/batches/${batch.batchId}/results?format=csv`;
      const [header = '', row = ''] = (await client.get(results)).text.trimEnd().split('\n');
      const single = await client.post('/api/market/product?format=csv', { domain: 1, asins, ...wish });
      expect(single.text.split('\n')[1]).toBe(row.replace(/^0,/, ''));
      return Object.fromEntries(header.split(',').map((name, i) => [name, row.split(',')[i]]));
    };
    const numbers = ['price', 'buyboxPrice', 'bsr', 'rating', 'reviewCount', 'countNew', 'monthlySold'];
    const all = (value: string) =>
      Object.fromEntries([...numbers, 'lastUpdate'].map((name) => [name, value]));
    expect(await cellsWith({})).toMatchObject(all(''));
    expect(await cellsWith({ decode: true })).toMatchObject(all(''));
  },
);

test.for<[string, object, string, string, RegExp]>([
  [
    'without a table of a batch that asks for histories',
    { operation: 'market.product', params: { domain: 1, days: 90 }, split: { asins: ['B0HISTORY1'] } },
    'format=csv',
    'table',
    /must be sent with days: products, history or daily/,
  ],
  [
    'with histories that the results lack',
    { operation: 'market.product', params: { domain: 1 }, split: { asins: ['B0HISTORY2'] } },
    'format=parquet&table=history',
    'table',
    /history needs days, dateRange, decode=1 or detailLevel=full/,
  ],
  [
    'of an operation without rows',
    { operation: 'market.graphimage', items: [{ domain: 1, asin: 'B0HISTORY3' }] },
    'format=xlsx',
    'format',
    /format: must be ndjson, without table: the answers of market\.graphimage have no rows/,
  ],
  [
    'of answers with fields',
    { operation, params: { domain: 1, fields: 'title' }, split: { asins: ['B0HISTORY4'] } },
    'format=csv',
    'format',
    /format: must be ndjson, without table, because of fields/,
  ],
])('refuses a table %s', async ([_, body, query, parameter, message], { client }) => {
  const batch = await startBatch(client, { ...body, window: 'off_peak' });
  const { status, json } = await client.get(`/api/batches/${batch.batchId}/results?${query}`);
  expect(status).toBe(400);
  expect(json.msg).toMatch(message);
  expect(json.metadata?.errors).toMatchObject([{ parameter }]);
});

test('returns the histories of a batch in each form, with the index of the item', async ({
  souk,
  client,
}) => {
  const asins = asinsFrom('B0FORM', 2);
  souk.upstream.on('product', ({ params }) => ({
    json: {
      products: (params.asin ?? '').split(',').map((asin) => ({
        asin,
        domainId: 1,
        productType: 0,
        csv: [[7_900_000, 1999, 7_900_060, -1]],
      })),
    },
  }));
  const batch = await startBatch(client, split(asins, { detailLevel: 'full' }));
  await finished(client, batch);
  const get = (query: string, headers = {}) =>
    client.get(`/api/batches/${batch.batchId}/results?table=history&${query}`, { headers });
  const csv = await get('format=csv');
  expect(csv.text.split('\n').slice(0, 3)).toEqual([
    'index,asin,country,series,time,value,shipping,text',
    `0,${asins[0]},us,amazon,2026-01-08T02:40:00Z,19.99,,`,
    `0,${asins[0]},us,amazon,2026-01-08T03:40:00Z,,,`,
  ]);
  const lines = linesOf(await get('format=ndjson'));
  expect(lines).toHaveLength(4);
  expect(lines[3]).toMatchObject({ index: 1, asin: asins[1], series: 'amazon', value: null });
  const parquet = await get('format=parquet');
  expect(parquet.headers['content-disposition']).toMatch(/filename="souk-batch-history-.*\.parquet"/);
  const { buffer, byteOffset, byteLength } = parquet.body;
  const file = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
  expect((await parquetReadObjects({ file }))[2]).toMatchObject({ index: 1n, value: 19.99 });
  const workbook = await get('', { accept: mediaTypeOf('xlsx') });
  expect(workbook.headers['content-type']).toBe(mediaTypeOf('xlsx'));
  expect((await readSheet(workbook.body, 'history')).at(1)?.slice(0, 6)).toEqual([
    0,
    asins[0],
    'us',
    'amazon',
    new Date('2026-01-08T02:40:00Z'),
    19.99,
  ]);
});

test.for([
  ['order=alphabet', 'order'],
  ['format=xml', 'format'],
  ['cursor=-1', 'cursor'],
  ['cursor=x', 'cursor'],
  ['cursor=2', 'cursor'],
] as const)('refuses ?%s, and names the parameter', async ([query, parameter], { client }) => {
  const batch = await startBatch(client, { ...split(asinsFrom('B0BADQ', 2)), window: 'off_peak' });
  const { status, json } = await client.get(`/api/batches/${batch.batchId}/results?${query}`);
  expect([status, json.metadata?.errors]).toMatchObject([400, [{ parameter }]]);
});

test('refuses a cursor with a form other than ndjson, also one of the header Accept', async ({ client }) => {
  const batch = await startBatch(client, split(asinsFrom('B0BADACC', 2)));
  await finished(client, batch);
  const get = (query: string, headers = {}) =>
    client.get(`/api/batches/${batch.batchId}/results?cursor=0${query}`, { headers });
  for (const reply of [
    await get('&format=csv'),
    await get('&table=products'),
    await get('', { accept: 'text/csv' }),
  ])
    expect([reply.status, reply.json.metadata?.errors]).toMatchObject([400, [{ parameter: 'cursor' }]]);
  expect((await get('&format=ndjson', { accept: 'text/csv' })).status).toBe(200);
});

test('returns pictures as lines with Base64 text', async ({ souk, client }) => {
  souk.upstream.on('graphimage', drawsPictures);
  const batch = await startBatch(client, {
    operation: 'market.graphimage',
    items: asinsFrom('B0PICT', 2).map((asin) => ({ domain: 1, asin })),
  });
  await finished(client, batch);
  for (const { data } of await resultsOf(client, batch)) {
    expect(data.contentType).toBe('image/png');
    expect(Buffer.from(data.base64, 'base64').subarray(1, 4).toString()).toBe('PNG');
  }
});

test('preserves numbers beyond 2^53 and unusual characters', async ({ souk, client }) => {
  souk.upstream.on('product', ({ params }) => ({
    raw: `{"tokensLeft":10000,"refillIn":30000,"refillRate":300,"timestamp":${Date.now()},"products":[{"asin":"${params.asin}","productType":0,"title":"a\\u2028b\\u0000c","rootCategory":9223372036854775807,"csv":[]}]}`,
  }));
  const item = '{"domain":1,"asin":"B0STRANGE1"}';
  const batch = await startBatch(client, Buffer.from(`{"operation":"${operation}","items":[${item}]}`));
  await finished(client, batch);
  const { text } = await client.get(`/api/batches/${batch.batchId}/results`);
  expect(text).toContain('"rootCategory":9223372036854775807');
  expect(linesOf({ text } as Parameters<typeof linesOf>[0])).toMatchObject([
    {
      index: 0,
      data: { products: [{ title: 'a\u2028b\u0000c' }] },
    },
  ]);
});

test('parameters beyond 2^53 keep their digits', async ({ souk, client }) => {
  souk.upstream.on('category', ({ params }) => ({
    json: { categories: { [params.category ?? '']: { catId: 1, name: 'Lamps' } } },
  }));
  const batch = await startBatch(
    client,
    Buffer.from('{"operation":"market.category","items":[{"domain":1,"category":9223372036854775807}]}'),
  );
  await finished(client, batch);
  expect(souk.upstream.callsTo('category').map(({ params }) => params.category)).toEqual([
    '9223372036854775807',
  ]);
  const { text } = await client.get(`/api/batches/${batch.batchId}/results`);
  expect(text).toContain('"params":{"domain":1,"category":9223372036854775807}');
});

test('a client that disconnects halfway affects no other request', async ({ souk, client }) => {
  souk.upstream.on(
    'product',
    everyProductWith((asin) => ({ title: asin.repeat(2_000) })),
  );
  const batch = await startBatch(client, split(asinsFrom('B0LEAVE', 300)));
  await finished(client, batch);
  const url = `${client.baseUrl}/api/batches/${batch.batchId}/results`;
  for (const encoding of ['identity', 'gzip']) {
    const headers = { 'x-api-key': client.key, 'accept-encoding': encoding };
    const { body } = await request(url, { headers });
    body.on('error', () => {});
    await new Promise((resolve) => body.once('data', resolve));
    body.destroy();
  }
  expect(await resultsOf(client, batch)).toHaveLength(300);
  expect(souk.logLines.filter((line) => /"level":(50|60)/.test(line))).toEqual([]);
});
