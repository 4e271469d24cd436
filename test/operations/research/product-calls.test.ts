import { describe, expect } from 'vitest';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { everyProductWith, newAsin } from '../../support/answers.ts';
import { finished, resultsOf, startBatch } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { csvReport, load, type TestTerm } from '../../support/reports.ts';
import { historyBefore, numbersIn } from '../../support/research.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const PRODUCT = '/api/research/product';
const COMPARE = '/api/research/compare';

const [A, B] = [newAsin(), newAsin()];

const clicked = (term: string, rank: number, ...asins: [string, string][]): TestTerm => ({
  term,
  rank,
  products: asins.map(([asin, click]) => [asin, 'A thing', click, '']),
});

test.beforeAll(async ({ souk }) => {
  const weeks: Record<string, TestTerm[]> = {
    '2026-01-03': [clicked('old keyword', 4, [A, '9'])],
    '2026-03-28': [clicked('lamp', 3, [B, '20'], [A, '11']), clicked('desk lamp', 8, [A, '12'])],
    '2026-04-04': [clicked('lamp', 2, [B, '20']), clicked('desk lamp', 9, [A, ''])],
  };
  for (const [week, terms] of Object.entries(weeks)) await load(souk.database, 'us', csvReport(week, terms));
});

test.beforeEach(({ souk, upstream }) => {
  // Noon, so that the days before are other days of the calendar.
  souk.clock.advance(2 * DAY_MS + DAY_MS / 2 - (souk.clock.now() % DAY_MS));
  const now = souk.clock.now();
  upstream.on(
    'product',
    everyProductWith((asin) => ({
      title: `Thing ${asin}`,
      brand: 'Acme',
      parentAsin: null,
      categoryTree: [{ catId: 1, name: 'Office Products' }],
      lastUpdate: 8_000_000,
      monthlySold: 50,
      referralFeePercentage: 15,
      fbaFees: { pickAndPackFee: 350 },
      csv: historyBefore(
        now,
        [1, [400, 3000], [60, -1], [45, 2400], [15, 2000]],
        [3, [400, 900], [15, 600]],
        [11, [400, 3], [1, 4]],
        [16, [400, 44]],
      ),
    })),
  );
});

const dataOf = async (client: Client, path: string) => {
  const { json } = await client.get(path);
  expect(json).toMatchObject({ code: '0000' });
  return json.data;
};

describe('a product', () => {
  test('has its price and rank with time-weighted averages', async ({ client }) => {
    const { product, price, rank, offers, monthlySold, currency } = await dataOf(
      client,
      `${PRODUCT}?country=us&asin=${A}`,
    );
    expect(product).toEqual({
      title: `Thing ${A}`,
      brand: 'Acme',
      category: 'Office Products',
      parentAsin: null,
      image: null,
      updatedAt: '2026-03-18T13:20:00Z',
    });
    expect(price).toEqual({
      current: 20,
      // 15 days at 24.00 and 15 at 20.00.
      average30: 22,
      // 30 days at 30.00, 15 without data, 30 at 24.00 and 15 at 20.00.
      average90: 25.6,
      // 305 days at 30.00, and the same as above.
      average365: 29.06,
      lowest: 20,
      highest: 30,
      drop: 21.88,
    });
    expect(rank).toMatchObject({ current: 600, average30: 750, lowest: 600, highest: 900 });
    expect([offers, monthlySold, currency]).toEqual([4, 50, 'USD']);
  });

  test('has a row for each of the days, and none without days', async ({ client, souk }) => {
    const day = (ago: number) => new Date(souk.clock.now() - ago * DAY_MS).toISOString().slice(0, 10);
    const { series, figures } = await dataOf(client, `${PRODUCT}?country=us&asin=${A}&days=3`);
    const rest = { price: 20, rank: 600, rating: 4.4 };
    expect(series).toEqual([
      { day: day(2), ...rest, offers: 3 },
      { day: day(1), ...rest, offers: 4 },
      { day: day(0), ...rest, offers: 4 },
    ]);
    expect(figures['series.offers'].source).toBe('products');
    expect((await dataOf(client, `${PRODUCT}?country=us&asin=${A}`)).series).toBeNull();
  });

  test('has each keyword of the last weeks once, with its last week', async ({ client }) => {
    const { keywords, hasMoreKeywords } = await dataOf(client, `${PRODUCT}?country=us&asin=${A}`);
    expect(keywords).toEqual([
      { keyword: 'desk lamp', week: '2026-04-04', rank: 9, position: 1, clickShare: null },
      { keyword: 'lamp', week: '2026-03-28', rank: 3, position: 2, clickShare: 11 },
    ]);
    expect(hasMoreKeywords).toBe(false);
    const more = await dataOf(client, `${PRODUCT}?country=us&asin=${A}&weeks=14`);
    expect(more.keywords.at(-1)).toMatchObject({ keyword: 'old keyword', week: '2026-01-03' });
    const fewer = await dataOf(client, `${PRODUCT}?country=us&asin=${A}&weeks=1`);
    expect(fewer.keywords).toHaveLength(1);
  });

  test('has a profit only if its cost is known', async ({ client }) => {
    const without = await dataOf(client, `${PRODUCT}?country=us&asin=${A}`);
    expect(without.fees).toEqual({ referral: 3, closing: null, fba: 3.5, source: 'products' });
    expect(without.profit).toMatchObject({
      cost: null,
      otherCosts: 0,
      profit: null,
      margin: null,
      roi: null,
    });
    const data = await dataOf(client, `${PRODUCT}?country=us&asin=${A}&cost=4.50&otherCosts=1.25`);
    const { profit, figures } = data;
    expect(numbersIn(data).filter((name) => !(name in figures) && name !== 'domainId')).toEqual([]);
    expect(profit).toEqual({
      price: 20,
      referral: 3,
      closing: null,
      fba: 3.5,
      cost: 4.5,
      otherCosts: 1.25,
      profit: 7.75,
      margin: 38.75,
      roi: 172.22,
    });
    expect(figures['profit.roi']).toEqual({
      source: 'products + request',
      date: '2026-03-18T13:20:00Z',
      formula: 'profit / cost, in percent; null if cost is 0',
    });
  });

  test.for([
    [
      'without fees',
      { referralFeePercentage: undefined, fbaFees: null },
      { referral: null, fba: null, source: null },
    ],
    [
      'with fees that are -1',
      { referralFeePercentage: -1, fbaFees: { pickAndPackFee: -1 } },
      { source: null },
    ],
  ] as const)('%s has no profit', async ([, fields, fees], { souk, client, upstream }) => {
    upstream.on(
      'product',
      everyProductWith(() => ({
        title: 'T',
        csv: historyBefore(souk.clock.now(), [1, [9, 2000]]),
        ...fields,
      })),
    );
    const data = await dataOf(client, `${PRODUCT}?country=us&asin=${newAsin()}&cost=1`);
    expect(data.fees).toMatchObject(fees);
    expect(data.profit).toMatchObject({ price: 20, cost: 1, profit: null, margin: null, roi: null });
  });

  test('of a site without reports has no keywords and costs one unit', async ({ client }) => {
    const path = `${PRODUCT}?country=in&asin=${A}`;
    expect((await client.get(`${path}&dryRun=1`)).json.data.units).toBe(1);
    const { json, headers } = await client.get(path);
    expect(json.data).toMatchObject({ currency: 'INR', keywords: null, price: { current: 20 } });
    expect(headers['x-units-consumed']).toBe('1');
  });

  test('of a site whose reports are not loaded has no keywords, which are not charged', async ({
    client,
  }) => {
    const path = `${PRODUCT}?country=de&asin=${A}`;
    expect((await client.get(`${path}&dryRun=1`)).json.data.units).toBe(2);
    const { json, headers } = await client.get(path);
    expect(json.data.keywords).toBeNull();
    expect(headers['x-units-consumed']).toBe('1');
  });

  test('that cannot be fetched is named and not charged, and its keywords are there', async ({
    client,
    upstream,
  }) => {
    upstream.on('product', () => ({ status: 400, json: { error: {} } }));
    const { status, json, headers } = await client.get(`${PRODUCT}?country=us&asin=${A}`);
    expect(status).toBe(200);
    expect(json.data).toMatchObject({
      product: null,
      price: { current: null, average30: null, lowest: null, drop: null },
      errors: [{ source: 'products', asin: A, errorId: 'UPSTREAM_ERROR' }],
    });
    expect(json.data.keywords).toHaveLength(2);
    expect(headers['x-units-consumed']).toBe('1');
    const alone = await client.get(`${PRODUCT}?country=in&asin=${A}`);
    expect([alone.status, alone.json.code, alone.headers['x-units-consumed']]).toEqual([
      502,
      'UPSTREAM_ERROR',
      '0',
    ]);
  });

  test('that the provider does not know is charged like a look-up of it', async ({ client, upstream }) => {
    upstream.on('product', () => ({ json: { products: [] } }));
    const { json, headers } = await client.get(`${PRODUCT}?country=us&asin=${newAsin()}`);
    expect(json.data.errors).toMatchObject([{ errorId: 'PRODUCT_NOT_FOUND' }]);
    expect(json.data.keywords).toEqual([]);
    expect(headers['x-units-consumed']).toBe('2');
  });
});

describe('a comparison', () => {
  test('has a row for each day, with the last value carried forward', async ({ souk, client }) => {
    const { series, summary } = await dataOf(client, `${COMPARE}?country=us&asins=${B},${A}&days=3`);
    const day = (ago: number) => new Date(souk.clock.now() - ago * DAY_MS).toISOString().slice(0, 10);
    const values = { price: 20, rank: 600, rating: 4.4 };
    expect(series).toEqual(
      [B, A].flatMap((asin) => [
        { asin, day: day(2), ...values, offers: 3 },
        { asin, day: day(1), ...values, offers: 4 },
        { asin, day: day(0), ...values, offers: 4 },
      ]),
    );
    expect(summary[0]).toMatchObject({
      asin: B,
      title: `Thing ${B}`,
      price: { first: 20, last: 20, change: 0, average: 20, lowest: 20, highest: 20 },
      offers: { first: 3, last: 4, change: 1, average: 3.67, lowest: 3, highest: 4 },
    });
  });

  test('has null on days without data', async ({ client }) => {
    const { series, summary } = await dataOf(client, `${COMPARE}?country=us&asins=${A},${B}&days=61`);
    expect(series.slice(0, 16).map(({ price }: { price: number | null }) => price)).toEqual([
      ...Array(15).fill(null),
      24,
    ]);
    expect(summary[0].price).toMatchObject({ first: null, last: 20, change: null, lowest: 20, highest: 24 });
  });

  test('shares its products with single calls and with the other research', async ({
    souk,
    client,
    upstream,
  }) => {
    await client.get(`/api/market/product?country=us&asins=${A}&rating=1`);
    souk.clock.advance(1);
    await client.get(`${COMPARE}?country=us&asins=${A},${B}`);
    expect(upstream.calls.map(({ params }) => params.asin)).toEqual([A, B]);
    souk.clock.advance(1);
    const data = await dataOf(client, `${PRODUCT}?country=us&asin=${B}`);
    expect([data.fromCache, upstream.calls.length]).toEqual([true, 2]);
  });

  test('without one of its products names it and does not charge it', async ({ client, upstream }) => {
    const known = everyProductWith(() => ({ title: 'T' }));
    upstream.on('product', (call, response) =>
      call.params.asin?.includes(B) ? { status: 400, json: { error: {} } } : known(call, response),
    );
    const { json, headers } = await client.post(COMPARE, { domain: 1, asins: [A, B], days: 1 });
    expect(json.data.errors).toEqual([{ source: 'products', asin: B, errorId: 'UPSTREAM_ERROR' }]);
    expect(json.data.series[1]).toMatchObject({ asin: B, price: null, rank: null });
    expect(headers['x-units-consumed']).toBe('1');
  });

  test('without any of its products fails and costs nothing', async ({ client, upstream }) => {
    upstream.on('product', () => ({ status: 400, json: { error: {} } }));
    const { status, json } = await client.get(`${COMPARE}?country=us&asins=${A},${B}`);
    expect([status, json.code]).toEqual([502, 'UPSTREAM_ERROR']);
    expect(await unitsUsed(client)).toBe(0);
  });

  test('is a table with format=csv', async ({ client }) => {
    const { text } = await client.get(`${COMPARE}?country=us&asins=${A},${B}&days=1&format=csv`);
    expect(text.split('\n').slice(0, 2)).toEqual([
      'asin,country,day,currency,price,rank,offers,rating',
      expect.stringMatching(new RegExp(`^${A},us,.{10},USD,20,600,4,4.4$`)),
    ]);
  });

  test('is made for each item of a batch', async ({ client }) => {
    const batch = await startBatch(client, {
      operation: 'research.compare',
      items: [{ country: 'us', days: 1, asins: [A, B] }],
    });
    await finished(client, batch);
    expect(await resultsOf(client, batch)).toMatchObject([{ data: { summary: [{ asin: A }, { asin: B }] } }]);
  });
});

test.for([
  [PRODUCT, `country=us&asin=${A}&cost=-1`, 'cost', 'must be an amount from 0 to 10000000, got -1'],
  [PRODUCT, `country=us&asin=${A}&cost=10000001`, 'cost', 'must be an amount from 0 to 10000000'],
  [PRODUCT, `country=us&asin=${A}&otherCosts=cheap`, 'otherCosts', 'must be an amount from 0 to 10000000'],
  [PRODUCT, 'country=us&asin=B0', 'asin', 'must be one ASIN'],
  [PRODUCT, `asin=${A}`, 'domain', 'is required'],
  [COMPARE, `country=us&asins=${A}`, 'asins', 'must be 2 to 10 ASINs, got 1'],
  [COMPARE, `country=us&asins=${A},${A}`, 'asins', 'must be 2 to 10 ASINs, got 1'],
  [
    COMPARE,
    `country=us&asins=${Array.from({ length: 11 }, (_, i) => `B00000000${i.toString(36)}`).join(',')}`,
    'asins',
    'got 11',
  ],
  [COMPARE, `country=us&asins=${A},${B}&days=366`, 'days', 'must be an integer from 1 to 365, got 366'],
] as const)('%s?%s is refused by the name %s', async ([path, query, parameter, problem], { client }) => {
  const { status, json } = await client.get(`${path}?${query}`);
  expect([status, json.code]).toEqual([400, 'VALIDATION_FAILED']);
  expect(json.metadata?.errors).toEqual([{ parameter, problem: expect.stringContaining(problem) }]);
});
