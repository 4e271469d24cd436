import { describe, expect } from 'vitest';
import { queuedOperation } from '../../../src/operations/index.ts';
import { PART_UNITS } from '../../../src/operations/research/parts.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { everyProductWith, newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { csvReport, load } from '../../support/reports.ts';
import { answersInterest, historyBefore, numbersIn, rejecting } from '../../support/research.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const KEYWORD = '/api/research/keyword';

const [A, B, C, D] = Array.from({ length: 4 }, newAsin) as [string, string, string, string];

const product = (asin: string, click: string, conversion = '1'): [string, string, string, string] => [
  asin,
  `Title of ${asin}`,
  click,
  conversion,
];

/** 2026-03-14 is not loaded, and in the week before it the term is not ranked. */
const WEEKS: Record<string, [rank: number, ...products: [string, string, string, string][]] | null> = {
  '2026-02-28': [90, product(A, '10'), product(D, '5')],
  '2026-03-07': null,
  '2026-03-21': [70, product(A, '30', ''), product(B, '20', '')],
  '2026-03-28': [60, product(A, '30'), product(B, '20'), product(C, '1.25')],
  '2026-04-04': [75, product(B, '20.5'), product(C, '10.2'), product(D, '')],
};

test.beforeAll(async ({ souk }) => {
  for (const [week, found] of Object.entries(WEEKS)) {
    const other = { term: 'garden hose', rank: 1 };
    const [rank = 0, ...products] = found ?? [];
    const terms = found ? [other, { term: 'desk lamp', rank, products }] : [other];
    await load(souk.database, 'us', csvReport(week, terms));
  }
});

// Answers, sources and preliminaries of the test before are too old.
test.beforeEach(({ souk, upstream }) => {
  souk.clock.advance(2 * DAY_MS);
  upstream.on('product', soldAt(souk.clock.now()));
});

const soldAt = (now: number) =>
  everyProductWith((asin) => ({
    title: `Thing ${asin}`,
    brand: asin === D ? null : asin === B ? 'Boro' : 'Acme',
    monthlySold: asin === B ? 300 : undefined,
    lastUpdate: 8_000_000,
    csv: historyBefore(now, [1, [9, 1999], [3, 1849]], [3, [9, 700]], [16, [9, 45]], [17, [9, 120]]),
  }));

const dataOf = async (client: Client, query: string) => {
  const { json } = await client.get(`${KEYWORD}?country=us&keyword=desk+lamp${query}`);
  expect(json).toMatchObject({ code: '0000' });
  return json.data;
};

test('a keyword has its ranks, and weeks without one are null', async ({ client }) => {
  const data = await dataOf(client, '&weeks=6');
  expect(data).toMatchObject({ country: 'us', keyword: 'desk lamp', week: '2026-04-04' });
  expect(data.history).toEqual([
    { week: '2026-02-28', rank: 90, isLoaded: true },
    { week: '2026-03-07', rank: null, isLoaded: true },
    { week: '2026-03-14', rank: null, isLoaded: false },
    { week: '2026-03-21', rank: 70, isLoaded: true },
    { week: '2026-03-28', rank: 60, isLoaded: true },
    { week: '2026-04-04', rank: 75, isLoaded: true },
  ]);
  expect(data.rank).toEqual({ current: 75, best: 60, worst: 90, change4: null, change12: null });
  expect(data.seasonality).toBeNull();
  expect(data.trends).toBeNull();
  expect(data.errors).toEqual([]);
});

test('the products clicked most have their shares of the report and their present values', async ({
  client,
}) => {
  const { products, brands } = await dataOf(client, '');
  expect(products.map((one: { asin: string }) => one.asin)).toEqual([B, C, D]);
  expect(products[0]).toEqual({
    position: 1,
    asin: B,
    clickShare: 20.5,
    conversionShare: 1,
    title: `Thing ${B}`,
    brand: 'Boro',
    price: 18.49,
    currency: 'USD',
    rating: 4.5,
    reviewCount: 120,
    rank: 700,
    monthlySold: 300,
  });
  expect(products[2]).toMatchObject({ clickShare: null, brand: null, monthlySold: null });
  expect(brands).toEqual([
    { brand: 'Boro', clickShare: 20.5 },
    { brand: 'Acme', clickShare: 10.2 },
    { brand: null, clickShare: null },
  ]);
});

test('shares are summed, and products that came or left are named only between two ranked weeks', async ({
  client,
}) => {
  const { concentration, entrants, leavers } = await dataOf(client, '&weeks=6');
  expect(concentration).toMatchObject({ clickShare: 30.7, conversionShare: 3, change12: null });
  expect(concentration.history).toEqual([
    { week: '2026-02-28', clickShare: 15, conversionShare: 2 },
    { week: '2026-03-07', clickShare: null, conversionShare: null },
    { week: '2026-03-14', clickShare: null, conversionShare: null },
    { week: '2026-03-21', clickShare: 50, conversionShare: null },
    { week: '2026-03-28', clickShare: 51.25, conversionShare: 3 },
    { week: '2026-04-04', clickShare: 30.7, conversionShare: 3 },
  ]);
  expect(entrants).toEqual([
    { asin: D, week: '2026-04-04' },
    { asin: C, week: '2026-03-28' },
  ]);
  expect(leavers).toEqual([{ asin: A, week: '2026-04-04' }]);
});

test('every figure names its source, date and formula', async ({ client, upstream }) => {
  answersInterest(upstream, [[1_772_323_200, 100]]);
  const data = await dataOf(client, '&trends=1');
  const { figures } = data;
  expect(numbersIn(data).filter((name) => !(name in figures))).toEqual([]);
  expect(figures['rank.best']).toEqual({
    source: 'reports',
    date: '2026-03-28',
    formula: expect.stringMatching(/history/),
  });
  expect(figures['products.price']).toMatchObject({ source: 'products', date: '2026-03-18T13:20:00Z' });
  expect(figures['brands.clickShare']).toMatchObject({ source: 'reports + products', date: '2026-04-04' });
  expect(figures['trends.points.value']).toMatchObject({ source: 'trends', date: '2026-03-01' });
});

test('the search trend is that of the country of the site', async ({ client, upstream }) => {
  answersInterest(upstream, [
    [1_772_323_200, 100],
    [1_772_928_000, null],
  ]);
  const { trends } = await dataOf(client, '&trends=1');
  expect(trends).toEqual({
    geo: 'US',
    resolution: 'WEEK',
    points: [
      { date: '2026-03-01', value: 100, isPartial: false },
      { date: '2026-03-08', value: null, isPartial: false },
    ],
  });
  const [asked] = upstream.callsTo('trends/api/explore');
  expect(asked?.params.req).toMatch(/"keyword":"desk lamp"/);
});

test('a keyword that no report has is answered without ranks and products, for one unit', async ({
  client,
  upstream,
}) => {
  const { json, headers } = await client.post(KEYWORD, { country: 'US', keyword: 'No such term', weeks: 1 });
  expect(json.data).toMatchObject({
    keyword: 'no such term',
    history: [{ week: '2026-04-04', rank: null, isLoaded: true }],
    products: [],
    brands: [],
    concentration: { clickShare: null },
  });
  expect(headers['x-units-consumed']).toBe('1');
  expect(upstream.calls).toEqual([]);
});

describe('the parts', () => {
  test.for([
    ['aba.word', { wordId: 33 }, PART_UNITS.reports],
    ['aba.asinreverse', { asins: [A] }, PART_UNITS.reports],
    ['market.product', { country: 'us', asins: [A] }, PART_UNITS.products],
    ['trends.interest-over-time', { keyword: 'desk lamp' }, PART_UNITS.trends],
  ] as const)('have the price of %s', ([name, sent, units]) => {
    const operation = queuedOperation(name);
    expect(operation?.price.quote(operation.params.parse(sent))).toBe(units);
  });

  test('cost as much as single calls, and the sum is stated before', async ({ client, upstream }) => {
    answersInterest(upstream, [[1_772_323_200, 100]]);
    const path = `${KEYWORD}?country=us&keyword=desk+lamp&trends=1`;
    const quote = await client.get(`${path}&dryRun=1`);
    expect(quote.json.data.units).toBe(5);
    expect(upstream.calls).toEqual([]);
    expect((await client.get(path)).headers['x-units-consumed']).toBe('5');
    expect(await unitsUsed(client)).toBe(5);
  });

  test('are not fetched again after single calls for them', async ({ souk, client, upstream }) => {
    answersInterest(upstream, [[1_772_323_200, 100]]);
    await client.get(`/api/market/product?country=us&asins=${B},${C},${D}&detailLevel=summary`);
    await client.post('/api/webtrends/interest-over-time', { keyword: 'desk lamp', geo: 'US' });
    upstream.calls.length = 0;
    souk.clock.advance(1);
    const { data } = (await client.get(`${KEYWORD}?country=us&keyword=desk+lamp&trends=1`)).json;
    expect(data).toMatchObject({ fromCache: true, errors: [] });
    expect(data.products[0].price).toBe(18.49);
    expect(upstream.calls).toEqual([]);
  });

  test('are not fetched again by single calls after them', async ({ souk, client, upstream }) => {
    answersInterest(upstream, [[1_772_323_200, 100]]);
    await client.get(`${KEYWORD}?country=us&keyword=desk+lamp&trends=1`);
    expect(upstream.callsTo('product')).toHaveLength(1);
    upstream.calls.length = 0;
    souk.clock.advance(1);
    for (const asins of [B, [C, D].join()]) {
      const reply = await client.get(
        `/api/market/product?country=us&asins=${asins}&detailLevel=full&rating=1`,
      );
      expect(reply.json.data).toMatchObject({ fromCache: true, errors: [] });
    }
    const trend = await client.post('/api/webtrends/interest-over-time', { keyword: 'desk lamp', geo: 'US' });
    expect(trend.json.data.fromCache).toBe(true);
    expect(upstream.calls).toEqual([]);
  });

  test('that fail are named and not charged, and the others are there', async ({
    souk,
    client,
    upstream,
  }) => {
    upstream.on('product', rejecting(soldAt(souk.clock.now()), C));
    upstream.on('trends/explore', () => ({ status: 400, json: {} }));
    upstream.on('trends/api/explore', () => ({ status: 400, json: {} }));
    const { status, json, headers } = await client.get(
      `${KEYWORD}?country=us&keyword=desk+lamp&trends=1&weeks=3`,
    );
    expect(status).toBe(200);
    expect(json.data.errors).toEqual([
      { source: 'products', asin: C, errorId: 'UPSTREAM_ERROR' },
      { source: 'trends', errorId: 'UPSTREAM_ERROR' },
    ]);
    expect(json.data.trends).toBeNull();
    expect(json.data.products[1]).toMatchObject({ asin: C, clickShare: 10.2, title: null, price: null });
    expect(headers['x-units-consumed']).toBe('3');
  });

  test('are all named if no product can be fetched; the same call again pays for these only', async ({
    souk,
    client,
    upstream,
  }) => {
    upstream.on('product', () => ({ status: 400, json: { error: {} } }));
    const failed = await client.get(`${KEYWORD}?country=us&keyword=desk+lamp`);
    expect(failed.json.data.errors.map(({ asin }: { asin: string }) => asin)).toEqual([B, C, D]);
    expect(failed.json.data.rank.current).toBe(75);
    expect(failed.headers['x-units-consumed']).toBe('1');

    upstream.on('product', soldAt(souk.clock.now()));
    const again = await client.get(`${KEYWORD}?country=us&keyword=desk+lamp`);
    expect(again.json.data.errors).toEqual([]);
    expect(again.headers['x-units-consumed']).toBe('3');
    // The incomplete answer was not shared.
    const other = await (await souk.client()).get(`${KEYWORD}?country=us&keyword=desk+lamp`);
    expect(other.json.data.products[0].price).toBe(18.49);
    expect(other.headers).toMatchObject({ 'x-cache': 'HIT', 'x-units-consumed': '4' });
  });
});

test.for([
  ['country=uk&keyword=x', 'country', 'no report is loaded for uk yet'],
  ['country=xx&keyword=x', 'country', 'must be one of us, uk'],
  ['country=us', 'keyword', 'is required'],
  ['country=us&keyword=x&weeks=105', 'weeks', 'must be an integer from 1 to 104, got 105'],
  ['country=us&keyword=x&trends=maybe', 'trends', 'must be 0, 1, true or false'],
  [`country=us&keyword=${'x'.repeat(101)}&trends=1`, 'trends', 'more than 100 characters'],
] as const)('%s is refused by the name %s', async ([query, parameter, problem], { client }) => {
  const { status, json } = await client.get(`${KEYWORD}?${query}`);
  expect([status, json.code]).toEqual([400, 'VALIDATION_FAILED']);
  expect(json.metadata?.errors).toEqual([{ parameter, problem: expect.stringContaining(problem) }]);
  expect(await unitsUsed(client)).toBe(0);
});

test('an unknown field of a body is refused with the nearest known one, and one of a query ignored', async ({
  client,
}) => {
  const { status, json } = await client.post(KEYWORD, { country: 'us', keyword: 'desk lamp', week: 3 });
  expect(status).toBe(400);
  expect(json.metadata?.errors).toEqual([
    { parameter: 'week', problem: expect.stringContaining('did you mean weeks?') },
  ]);
  expect((await client.get(`${KEYWORD}?country=us&keyword=desk+lamp&week=3`)).status).toBe(200);
});
