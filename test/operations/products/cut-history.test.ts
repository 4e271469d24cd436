import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutHistory, fromKeepaMinutes } from '../../../src/operations/products/history.ts';
import type { Product } from '../../../src/operations/products/product.ts';
import { modelCut, seriesOf, windows } from '../../support/history.ts';

const ASIN = 'B000000001';
const WITH_SHIPPING = [7, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 32];
const widthOf = (index: number) => (WITH_SHIPPING.includes(index) ? 3 : 2);

/** Histories outside csv, and how many entries a point has. */
const HISTORIES = [
  ['monthlySoldHistory', 2],
  ['salesRankReferenceHistory', 2],
  ['parentAsinHistory', 2],
  ['buyBoxSellerIdHistory', 2],
  ['couponHistory', 3],
  ['buyBoxUsedHistory', 4],
] as const;

const window = { startMs: fromKeepaMinutes(250), endMs: fromKeepaMinutes(450) };

describe('a product cut to a window', () => {
  test('has each csv series cut by its own point width', () => {
    const csv = fc.tuple(
      ...Array.from({ length: 36 }, (_, index) => fc.option(seriesOf(widthOf(index)), { freq: 3 })),
    );
    fc.assert(
      fc.property(csv, windows, (series, some) => {
        const expected = series.map((one, index) => one && modelCut(one, widthOf(index), some));
        expect(cutHistory({ asin: ASIN, csv: series }, some).csv).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });

  test.each(HISTORIES)('has its %s cut, whose points have %i values', (field, width) => {
    const rows = [100, 200, 300, 400, 500].map((time) => [time, ...Array(width - 1).fill(time + 1)]);
    const kept = rows.slice(1, 4).flat();
    expect(cutHistory({ asin: ASIN, [field]: rows.flat() }, window)[field]).toEqual(kept);
    const texts = cutHistory({ asin: ASIN, [field]: rows.flat().map(String) }, window)[field];
    expect(texts).toEqual(kept.map(String));
  });

  test('has every sales rank cut', () => {
    const salesRanks = { 11: [100, 1, 200, 2, 300, 3, 500, 5], 12: [600, 7], 13: [], 14: [20, 4] };
    expect(cutHistory({ asin: ASIN, salesRanks }, window).salesRanks).toEqual({
      11: [200, 2, 300, 3],
      12: [],
      13: [],
      14: [20, 4],
    });
  });

  test('has its review counts cut, and the other review fields unchanged', () => {
    const reviews = { lastUpdate: 9, ratingCount: [100, 1, 300, 2], reviewCount: [200, 5, 460, 6] };
    expect(cutHistory({ asin: ASIN, reviews }, window).reviews).toEqual({
      lastUpdate: 9,
      ratingCount: [100, 1, 300, 2],
      reviewCount: [200, 5],
    });
  });

  test('has no offers that ended before the window, and a correct order of live offers', () => {
    const offers = [
      { sellerId: 'ended', lastSeen: 249 },
      { sellerId: 'live', lastSeen: 600, offerCSV: [100, 9, 0, 240, 8, 1, 440, 7, 0, 500, 6, 0] },
      {
        sellerId: 'past',
        lastSeen: 250,
        stockCSV: [100, 3, 200, 4, 255, 2],
        couponHistory: [240, -5, 600, 0],
      },
      { sellerId: 'undated', primeExclCSV: [10, 1, 249, 2, 300, 3] },
    ];
    const cut = cutHistory({ asin: ASIN, offers, liveOffersOrder: [3, 1] }, window);
    expect(cut.offers).toEqual([
      { sellerId: 'live', lastSeen: 600, offerCSV: [240, 8, 1, 440, 7, 0] },
      { sellerId: 'past', lastSeen: 250, stockCSV: [200, 4, 255, 2], couponHistory: [240, -5] },
      { sellerId: 'undated', primeExclCSV: [249, 2, 300, 3] },
    ]);
    expect(cut.liveOffersOrder).toEqual([2, 0]);
  });

  test('keeps absent, null, empty and unknown fields unchanged', () => {
    const plain: Product = {
      asin: ASIN,
      csv: [null, [], null],
      salesRanks: null,
      reviews: null,
      offers: null,
      buyBoxSellerIdHistory: null,
      couponHistory: [],
      stats: { current: [1, 2, 3] },
      variationCSV: 'B000000002,B000000003',
      lastUpdate: 10,
      categories: [1, 2, 3],
      unheardOf: [1, 2, 3],
    };
    expect(cutHistory(plain, window)).toEqual(plain);
    expect(cutHistory({ asin: ASIN, csv: null }, window)).toEqual({ asin: ASIN, csv: null });
    expect(cutHistory({ asin: ASIN }, window)).toEqual({ asin: ASIN });
  });
});
