import { parquetReadObjects } from 'hyparquet';
import { readSheet } from 'read-excel-file/node';
import { expect } from 'vitest';
import { mediaTypeOf, TABLE_FORMAT_NAMES } from '../../../src/operations/tables/formats.ts';
import { everyProductWith } from '../../support/answers.ts';
import type { Reply } from '../../support/client.ts';
import { test } from '../../support/shared-souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const PRODUCT = '/api/market/product?domain=1&asins=';

test.beforeEach(({ upstream }) => {
  upstream.on(
    'product',
    everyProductWith((asin) => ({
      title: `Thing ${asin}`,
      stats: { current: [100, 200, -1, 300] },
      csv: [[7_900_000, 1999, 7_901_440, -1]],
      offers: [{ offerId: 1, sellerId: 'A2SELLER01', condition: 1, offerCSV: [7_900_000, 1500, 0] }],
      liveOffersOrder: [0],
      lastUpdate: 7_903_000,
    })),
  );
});

const fileOf = ({ body: { buffer, byteOffset, byteLength } }: Reply) =>
  buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;

test('answers in each form by format and by Accept, named by what the file holds', async ({
  souk,
  client,
}) => {
  const day = new Date(souk.clock.now()).toISOString().slice(0, 10);
  for (const format of TABLE_FORMAT_NAMES) {
    const path = `${PRODUCT}B0FORMAT0${TABLE_FORMAT_NAMES.indexOf(format)}&table=history`;
    const byFormat = await client.get(`${path}&format=${format}`);
    expect([byFormat.status, byFormat.headers['content-type']?.split(';')[0]]).toEqual([
      200,
      mediaTypeOf(format),
    ]);
    const asin = /B0FORMAT0\d/.exec(path)?.[0];
    expect(byFormat.headers['content-disposition']).toBe(
      `attachment; filename="souk-history-us-${asin}-${day}.${format}"`,
    );
    const byAccept = await client.get(path, { headers: { accept: `${mediaTypeOf(format)}, */*;q=0.1` } });
    expect(byAccept.headers['x-deduplicated']).toBe('true');
    expect(byAccept.body).toEqual(byFormat.body);
  }
});

test('answers JSON to a browser, and to a client that accepts everything', async ({ client }) => {
  for (const accept of ['text/html,application/xhtml+xml;q=0.9,*/*;q=0.8', '*/*', 'image/png'])
    expect((await client.get(`${PRODUCT}B0ACCEPT01`, { headers: { accept } })).json.data.count).toBe(1);
});

test('has histories at lite without further parameters, with times, amounts and nulls', async ({
  client,
}) => {
  const path = `${PRODUCT}B0HISTORY0&table=history`;
  const rows = await parquetReadObjects({ file: fileOf(await client.get(`${path}&format=parquet`)) });
  expect(rows).toEqual([
    {
      asin: 'B0HISTORY0',
      country: 'us',
      series: 'amazon',
      time: new Date('2026-01-08T02:40:00Z'),
      value: 19.99,
      shipping: null,
      text: null,
    },
    expect.objectContaining({ time: new Date('2026-01-09T02:40:00Z'), value: null }),
  ]);
  const workbook = await client.get(`${path}&format=xlsx`);
  expect((await readSheet(workbook.body, 'history')).length).toBe(3);
  expect((await readSheet(workbook.body, 'columns')).map(([name]) => name)).toContain('shipping');
});

test('has a row for each day, and the last value is carried forward', async ({ client }) => {
  const { text } = await client.get(`${PRODUCT}B0DAILY001&table=daily&format=csv`);
  const [header = '', ...rows] = text.trimEnd().split('\n');
  const amazon = header.split(',').indexOf('amazon');
  expect(rows.map((row) => [row.split(',')[2], row.split(',')[amazon]])).toEqual([
    ['2026-01-08', '19.99'],
    ['2026-01-09', ''],
    ['2026-01-10', ''],
  ]);
});

test('has a row for each offer', async ({ client }) => {
  const { text } = await client.get(`${PRODUCT}B0OFFERS01&table=offers&offers=20&format=ndjson`);
  expect(JSON.parse(text)).toMatchObject({
    asin: 'B0OFFERS01',
    condition: 'New',
    price: 15,
    shipping: 0,
    currency: 'USD',
    isLive: true,
    lastSeen: null,
  });
});

test.for<[string, string, string]>([
  ['/api/market/graphimage?domain=1&asin=B0REFUSED1&format=xlsx', 'format', 'have no rows'],
  [`${PRODUCT}B0REFUSED1&format=xml`, 'format', 'must be one of json, csv, ndjson, xlsx, parquet, got "xml"'],
  [`${PRODUCT}B0REFUSED1&format=csv&table=prices`, 'table', 'must be products, history, daily or offers'],
  [`${PRODUCT}B0REFUSED1&table=history`, 'table', 'must be sent with format=csv'],
  [`${PRODUCT}B0REFUSED1&format=csv&table=offers`, 'table', 'offers needs offers'],
  [`${PRODUCT}B0REFUSED1&format=csv&table=daily&history=0`, 'table', 'daily needs history=1'],
  [
    `${PRODUCT}B0REFUSED1&format=csv&table=history&detailLevel=summary`,
    'table',
    'history needs detailLevel=lite or full',
  ],
  [`${PRODUCT}B0REFUSED1&format=csv&fields=title`, 'format', 'the columns of a table are constant'],
  [`${PRODUCT}B0REFUSED1&format=csv&days=90`, 'table', 'must be sent with days: products, history or daily'],
  ['/api/market/productsearch?domain=1&term=pump&history=1&format=csv', 'table', 'must be sent with history'],
])('refuses %s, names %s and charges nothing', async ([path, parameter, problem], { client }) => {
  const { status, json } = await client.get(path);
  expect([status, json.metadata?.errors]).toEqual([
    400,
    [{ parameter, problem: expect.stringContaining(problem) }],
  ]);
  expect(await unitsUsed(client)).toBe(0);
});

test.for(['format', 'table', 'dryRun', 'maxUnits', 'async', 'webhook'])(
  'refuses the option %s in a body, where it would be ignored, and charges nothing',
  async (option, { client }) => {
    const { status, json } = await client.post('/api/market/product', {
      domain: 1,
      asins: ['B0REFUSED1'],
      [option]: '1',
    });
    expect([status, json.metadata?.errors]).toEqual([
      400,
      [{ parameter: option, problem: expect.stringContaining('must be in the query') }],
    ]);
    expect(await unitsUsed(client)).toBe(0);
  },
);

test('refuses a header Accept that names only tables, for an answer without rows', async ({ client }) => {
  const headers = { accept: mediaTypeOf('parquet') };
  const path = '/api/market/graphimage?domain=1&asin=B0REFUSED1';
  const { status, json } = await client.get(path, { headers });
  expect([status, json.metadata?.errors]).toMatchObject([400, [{ parameter: 'Accept' }]]);
});
