import { describe, expect, test } from 'vitest';
import { product } from '../../../src/operations/market/product.ts';
import { toKeepaMinutes } from '../../../src/operations/products/history.ts';
import type { Product } from '../../../src/operations/products/product.ts';
import { canonical } from '../../support/parameters.ts';

const NOW = Date.parse('2026-03-04T10:00:00Z');
const minutesAgo = (days: number) => toKeepaMinutes(NOW - days * 86_400_000);

const RAW: Product = {
  asin: 'B000000001',
  domainId: 3,
  title: 'Kettle',
  productType: 0,
  csv: [[minutesAgo(50), 900, minutesAgo(30), 950, minutesAgo(10), 990, minutesAgo(2), 970]],
  salesRanks: { 77: [minutesAgo(9), 5] },
  stats: { current: [970] },
  offers: [
    { sellerId: 'S1', lastSeen: minutesAgo(1) },
    { sellerId: 'S2', lastSeen: minutesAgo(40) },
  ],
  liveOffersOrder: [0],
  somethingNew: { kept: true },
};

interface Answer {
  country: string;
  count: number;
  products: Record<string, unknown>[];
  errors: { asin: string; errorId: string }[];
  responseShape: { detailLevel: string; hint: string };
}

function answer(sent: object, found: readonly Product[] = [RAW]): Answer {
  const input = canonical(product, { domain: 3, asins: 'B000000001', ...sent });
  const { respond } = product;
  if (respond.type !== 'json') throw new Error('products are JSON');
  const byAsin = new Map(found.map((item) => [item.asin, item]));
  return respond.present(byAsin, input, { now: NOW }).data as unknown as Answer;
}

describe('the answer of a product look-up', () => {
  test('has products in the order of the canonical input, and an error for each missing ASIN', () => {
    const found = [{ asin: 'B000000003' }, { asin: 'B000000001' }, { asin: 'B000000009' }];
    const { products, count, errors } = answer({ asins: 'B000000003,B000000002,B000000001' }, found);
    expect(products.map(({ asin }) => asin)).toEqual(['B000000001', 'B000000003']);
    expect(count).toBe(2);
    expect(errors).toEqual([{ asin: 'B000000002', errorId: 'PRODUCT_NOT_FOUND' }]);
  });

  test.each(['summary', 'lite', 'full'])(
    'states its site and its detail level %s, with a hint',
    (detailLevel) => {
      const { responseShape, country } = answer({ detailLevel });
      expect(country).toBe('de');
      expect(responseShape).toEqual({ detailLevel, hint: expect.stringMatching(/detailLevel=/) });
    },
  );

  test('has stats at lite and full without a request, and the current values by name at summary', () => {
    for (const detailLevel of ['lite', 'full']) {
      expect(answer({ detailLevel }).products[0]).toHaveProperty('stats', RAW.stats);
    }
    expect(answer({ detailLevel: 'summary' }).products[0]).toMatchObject({ amazonPrice: 970 });
  });

  test('has csv at lite if days or dateRange is sent', () => {
    const csv = [[minutesAgo(2), 970]];
    expect(answer({ days: 1 }).products[0]).toHaveProperty('csv', csv);
    const dateRange = { start: NOW - 86_400_000, end: NOW };
    expect(answer({ dateRange }).products[0]).toHaveProperty('csv', csv);
  });

  test('has no offers if only stock was requested', () => {
    const shown = answer({ stock: 1, detailLevel: 'full' }).products[0];
    expect(shown).not.toHaveProperty('offers');
    expect(shown).not.toHaveProperty('liveOffersOrder');
    expect(shown).toHaveProperty('stats');
  });

  test('has the last N days, and the value that was valid when they began', () => {
    const series = (days: number) => answer({ detailLevel: 'full', days }).products[0]?.csv;
    expect(series(20)).toEqual([[minutesAgo(30), 950, minutesAgo(10), 990, minutesAgo(2), 970]]);
    expect(series(1)).toEqual([[minutesAgo(2), 970]]);
    expect(series(4000)).toEqual(RAW.csv);
  });

  test('has the date range if both dateRange and days are given', () => {
    const dateRange = { start: NOW - 20 * 86_400_000, end: NOW - 5 * 86_400_000 };
    const { products } = answer({ detailLevel: 'full', dateRange, days: 1 });
    expect(products[0]?.csv).toEqual([[minutesAgo(30), 950, minutesAgo(10), 990]]);
  });

  test('has the requested number of offers, live ones first', () => {
    const offers = (count: number) => answer({ offers: count }).products[0]?.offers;
    expect(offers(1)).toMatchObject([{ sellerId: 'S1' }]);
    expect(offers(2)).toMatchObject([{ sellerId: 'S1' }, { sellerId: 'S2' }]);
  });

  test('does not change the fetched product, which other calls share', () => {
    const before = structuredClone(RAW);
    answer({ detailLevel: 'summary', offers: 1 });
    for (const detailLevel of ['lite', 'full']) answer({ detailLevel, days: 1, offers: 1 });
    expect(RAW).toEqual(before);
  });
});
