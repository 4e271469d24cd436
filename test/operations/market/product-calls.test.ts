import { describe, expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import { finished, resultsOf, startBatch } from '../../support/batches.ts';
import type { Reply } from '../../support/client.ts';
import { connectAgent } from '../../support/mcp-client.ts';
import { test } from '../../support/souk-test.ts';

const PRODUCT = '/api/market/product';

const asinsOf = ({ json }: Reply) => json.data.products.map(({ asin }: { asin: string }) => asin);

describe('an ASIN without data upstream', () => {
  /** The form in which the provider returns an unknown ASIN. */
  const nothing = {
    productType: 4,
    title: null,
    categories: null,
    csv: Array(36).fill(null),
    stats: { current: Array(36).fill(-1), avg90: Array(36).fill(-1), buyBoxPrice: -2, salesRankDrops30: -1 },
  };

  test.for<[string, Record<string, unknown>[], string]>([
    ['is missing in the answer of upstream', [], 'PRODUCT_NOT_FOUND'],
    [
      'is an element of type 4 in the answer of upstream',
      [{ asin: 'B00NOTHING', ...nothing }],
      'PRODUCT_NOT_FOUND',
    ],
    [
      'is marked as inaccessible',
      [{ asin: 'B00NOTHING', ...nothing, productType: 3 }],
      'PRODUCT_UNAVAILABLE',
    ],
    ['has no ASIN in the answer of upstream', [{ title: 'No ASIN' }], 'PRODUCT_NOT_FOUND'],
    ['is null in the answer of upstream', [null as unknown as Record<string, unknown>], 'PRODUCT_NOT_FOUND'],
  ])(
    'is listed in errors[] if it %s, and the other products are returned',
    async ([_how, products, errorId], { souk }) => {
      const asin = newAsin();
      souk.upstream.on('product', () => ({
        json: { products: [{ asin, productType: 0, title: 'Something' }, ...products] },
      }));
      const client = await souk.client();
      const reply = await client.get(`${PRODUCT}?domain=1&asins=${asin},B00NOTHING&update=0`);
      expect([reply.status, reply.json.code]).toEqual([200, '0000']);
      expect(reply.json.data).toMatchObject({ count: 1, errors: [{ asin: 'B00NOTHING', errorId }] });
      expect(asinsOf(reply)).toEqual([asin]);
      expect(reply.headers['x-units-consumed']).toBe('2');
    },
  );

  test('is not cached for an hour', async ({ souk }) => {
    const asin = newAsin();
    souk.upstream.on('product', () => ({ json: { products: [] } }));
    const path = `${PRODUCT}?domain=1&asins=${asin}`;
    const reply = await (await souk.client()).get(path);
    expect(reply.json.data).toMatchObject({ count: 0, products: [], errors: [{ asin }] });

    // A worker runs the call of another account, and repeats the request once a minute.
    const other = await (await souk.client()).get(path);
    const { rows } = await souk.database.query('select answer from calls where id = $1', [
      other.headers['x-job-id'],
    ]);
    expect(rows).toEqual([{ answer: 'own' }]);
  });
});

describe('a look-up of codes', () => {
  const [EAN, UPC, OTHER] = ['4006381333931', '036000291452', '73513537'];
  const records = [
    { asin: 'B0CODES001', productType: 0, title: 'One', eanList: [EAN], upcList: null },
    { asin: 'B0CODES002', productType: 0, title: 'Two', eanList: [`0${UPC}`, EAN], upcList: [UPC] },
  ];
  const shown = [
    { asin: 'B0CODES001', title: 'One', codes: [EAN] },
    { asin: 'B0CODES002', title: 'Two', codes: [UPC, EAN] },
  ];

  test.beforeEach(({ upstream }) => {
    upstream.on('product', ({ params }) => {
      const asked = (params.code ?? '').split(',').map((code) => code.padStart(13, '0'));
      return {
        json: {
          products: records.filter(({ eanList }) =>
            eanList.some((ean) => asked.includes(ean.padStart(13, '0'))),
          ),
        },
      };
    });
  });

  test('returns all products with their codes, lists codes without a product, and costs a unit for each code', async ({
    client,
    upstream,
  }) => {
    const reply = await client.get(`${PRODUCT}?domain=1&codes=${EAN},${OTHER}&code=${UPC}&fields=title`);
    expect(reply.headers['x-units-consumed']).toBe('3');
    expect(reply.json.data).toMatchObject({
      count: 2,
      errors: [{ code: OTHER, errorId: 'PRODUCT_NOT_FOUND' }],
    });
    expect(reply.json.data.products).toEqual(shown);
    const table = await client.get(`${PRODUCT}?domain=1&codes=${EAN},${UPC}&detailLevel=summary&format=csv`);
    expect(table.text.split('\n').map((line) => line.split(',').at(-1))).toEqual([
      'codes',
      EAN,
      `${UPC} ${EAN}`,
      '',
    ]);
    // Each product costs a token, so their number is limited.
    expect(upstream.callsTo('product').map(({ params }) => [params.code, params['code-limit']])).toEqual([
      [[UPC, EAN, OTHER].join(), '5'],
      [[UPC, EAN].join(), '5'],
    ]);
    expect(upstream.callsTo('product').every(({ params }) => params.asin === undefined)).toBe(true);
  });

  test('sends codes one by one if the answer has a product without codes', async ({ client, upstream }) => {
    upstream.on('product', ({ params: { code = '' } }) => ({
      json: {
        products: [
          ...(code.includes(EAN) ? records.slice(0, 1) : []),
          ...(code.includes(OTHER) ? [{ asin: 'B0CODES003', productType: 0, title: 'Three' }] : []),
        ],
      },
    }));
    const { json } = await client.post(PRODUCT, { domain: 2, codes: [EAN, UPC, OTHER], update: 0 });
    expect(json.data.products).toMatchObject([
      { asin: 'B0CODES001', codes: [EAN] },
      { asin: 'B0CODES003', codes: [OTHER] },
    ]);
    expect(json.data.errors).toEqual([{ code: UPC, errorId: 'PRODUCT_NOT_FOUND' }]);
    expect(upstream.callsTo('product').map(({ params }) => params.code)).toEqual([
      `${UPC},${EAN},${OTHER}`,
      UPC,
      OTHER,
    ]);
  });

  test('has the same products in a batch and in a tool call', async ({ client, upstream }) => {
    const params = { domain: 3, fields: 'title' };
    const batch = await startBatch(client, {
      operation: 'market.product',
      params,
      split: { codes: [EAN, UPC, OTHER] },
    });
    await finished(client, batch);
    expect((await resultsOf(client, batch)).map(({ data }) => [data.products, data.errors])).toEqual([
      [[shown[0], { ...shown[1], codes: [EAN] }], []],
      [[{ ...shown[1], codes: [UPC] }], []],
      [[], [{ code: OTHER, errorId: 'PRODUCT_NOT_FOUND' }]],
    ]);
    expect(upstream.callsTo('product')).toHaveLength(1);
    const agent = await connectAgent(client);
    const { data } = await agent.call('market_get_product', {
      ...params,
      detailLevel: 'lite',
      codes: [UPC, EAN],
    });
    expect(data.products).toEqual(shown);
    expect(upstream.callsTo('product')).toHaveLength(1);
  });
});

test.for([
  ['ASINs only', {}, { stats: '90', history: '1' }],
  ['no history', { history: 0 }, { stats: '90', history: '0' }],
  ['statistics', { stats: 30 }, { stats: '30', history: '1' }],
  ['a few offers', { offers: 5 }, { stats: '90', history: '1', offers: '20' }],
  ['many offers', { offers: 55 }, { stats: '90', history: '1', offers: '55' }],
  ['stock', { stock: true }, { stats: '90', history: '1', offers: '20', stock: '1' }],
  [
    'rating and buy box',
    { rating: true, buybox: 1 },
    { stats: '90', history: '1', rating: '1', buybox: '1' },
  ],
  ['a refresh', { update: 0 }, { stats: '90', history: '1', update: '0' }],
  ['a maximum age of a day', { update: 24 }, { stats: '90', history: '1' }],
  ['a part of the history', { days: 7 }, { stats: '90', history: '1' }],
] as const)("sends the provider's parameters for %s", async ([_what, options, expected], { souk }) => {
  const asin = newAsin();
  const client = await souk.client();
  const reply = await client.post(PRODUCT, { domain: 6, asins: [asin], ...options });
  expect(reply.status).toBe(200);
  const { key: _, ...params } = souk.upstream.calls.at(-1)?.params ?? {};
  expect(params).toEqual({ domain: '6', asin, ...expected });
});

describe('decode=1', () => {
  const decoded = {
    history: {
      amazon: { time: ['2026-01-01T00:00:00Z'], value: [19.99] },
      buyBox: { time: ['2026-01-01T00:00:00Z'], value: [18.5], shipping: [4.99] },
    },
    statistics: { current: { amazon: 19.99 } },
  };

  test.beforeEach(({ upstream }) => {
    const minute = Date.UTC(2026, 0, 1) / 60_000 - 21_564_000;
    const csv = Array.from({ length: 36 }, (_, i) => (i === 0 ? [minute, 1999] : null));
    csv[18] = [minute, 1850, 499];
    const product = (asin: string) => ({
      asin,
      productType: 0,
      title: asin,
      csv,
      stats: { current: [1999] },
    });
    upstream.on('product', ({ params }) => ({
      json: { products: (params.asin ?? '').split(',').map(product) },
    }));
    upstream.on('search', () => ({ json: { products: [product('B00DECODE3')] } }));
  });

  test.for([
    [`${PRODUCT}?domain=1&asins=B00DECODE1&decode=1`, 'products'],
    ['/api/market/variations?domain=1&asin=B00DECODE2&decode=1', 'variations'],
    ['/api/market/productsearch?domain=1&term=decoded&history=1&decode=1', 'products'],
  ])('returns histories and statistics by name at %s', async ([path = '', list = ''], { client }) => {
    const { status, json } = await client.get(path);
    expect(status, JSON.stringify(json)).toBe(200);
    if (list === 'products') expect(json.data.products).toMatchObject([decoded]);
    for (const record of json.data[list]) expect(record).not.toHaveProperty('csv');
  });

  test('returns a history that is selected with what it needs', async ({ client }) => {
    const path = `${PRODUCT}?domain=1&asins=B00DECODE4&decode=1&fields=history.buyBox`;
    const refused = await client.get(path);
    expect(refused.status).toBe(400);
    expect(refused.json.metadata?.errors).toMatchObject([
      { parameter: 'fields', problem: 'history.buyBox needs buybox=1' },
    ]);
    const { json } = await client.get(`${path}&buybox=1`);
    expect(json.data.products).toEqual([{ asin: 'B00DECODE4', history: { buyBox: decoded.history.buyBox } }]);
  });

  test('is refused by the product finder, whose answer has no histories', async ({ client }) => {
    const sent = { domain: 1, current_SALES_lte: 100, decode: 1 };
    const { status, json } = await client.post('/api/market/productfinder', sent);
    expect([status, json.code]).toEqual([400, '4000']);
    expect(json.metadata?.errors).toMatchObject([
      { parameter: 'selection.decode', problem: 'is not a field of the selection' },
    ]);
  });
});

test('a pasted query is one call, in a body, in the query, or as the address of the provider', async ({
  souk,
  client,
}) => {
  souk.upstream.on('query', () => ({ json: { asinList: ['B0PASTED01'], totalResults: 1 } }));
  const selection = { current_SALES_lte: 4321, sort: [['current_SALES', 'asc']] };
  const text = JSON.stringify(selection);
  const encoded = encodeURIComponent(text);
  const shown = `https://api.keepa.com/query?domain=1&key=PROVIDER&selection=${encoded}`;
  const path = '/api/market/query';
  const replies = [
    await client.post('/api/market/productfinder', { country: 'us', ...selection }),
    await client.post('/api/market/productfinder', { country: 'us', selection: text }),
    await client.post('/api/market/productfinder', { selection: shown }),
    await client.get(`${path}?domain=1&selection=${encoded}`),
    await client.get(`${path}?selection=${encodeURIComponent(shown)}`),
  ];
  expect(replies.map(({ status, headers }) => [status, headers['x-units-consumed']])).toEqual([
    [200, '1'],
    ...Array(4).fill([200, '0']),
  ]);
  expect(souk.upstream.callsTo('query').map(({ body }) => JSON.parse(body))).toEqual([
    expect.objectContaining({ current_SALES_lte: 4321 }),
  ]);
  const refused = await client.get(
    `${path}?selection=${encodeURIComponent('{"domain":1,"curent_SALES_lte":1}')}`,
  );
  expect([refused.status, refused.json.code]).toEqual([400, '4000']);
  expect(refused.json.msg).toContain('did you mean current_SALES_lte?');
});
