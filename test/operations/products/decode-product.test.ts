import { describe, expect, test } from 'vitest';
import { product } from '../../../src/operations/market/product.ts';
import { decodeProduct, readableProduct } from '../../../src/operations/products/decode-product.ts';
import { NAMED_SERIES, pointWidth, SERIES_COUNT } from '../../../src/operations/products/history.ts';
import { canonical } from '../../support/parameters.ts';

/** Index times of 2026-01-01 and the next two days. */
const DAYS = [0, 1, 2].map((day) => Date.UTC(2026, 0, 1 + day) / 60_000 - 21_564_000);
const [FIRST = 0, SECOND = 0] = DAYS;
const TIMES = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];

function csvWith(index: number, series: number[]): (number[] | null)[] {
  return Array.from({ length: SERIES_COUNT }, (_, i) => (i === index ? series : null));
}

describe('a decoded product', () => {
  test.each(
    NAMED_SERIES.map(({ name, kind }, index) => ({ name, kind, index })).filter(
      ({ name }) => name !== 'offerUpdates',
    ),
  )(
    'returns csv[$index] as the history $name, with shipping if its points have three values',
    ({ name, kind, index }) => {
      const hasShipping = pointWidth(index) === 3;
      const series = hasShipping ? [FIRST, 1999, 499, SECOND, -1, -1] : [FIRST, 45, SECOND, -1];
      const { history } = decodeProduct({ asin: 'A', csv: csvWith(index, series) }, 1);
      const value = hasShipping ? 19.99 : kind === 'price' ? 0.45 : kind === 'stars' ? 4.5 : 45;
      const expected = {
        time: TIMES,
        value: [value, null],
        ...(hasShipping ? { shipping: [4.99, null] } : {}),
      };
      expect(history).toEqual({ [name]: expected });
    },
  );

  test('has the number of fetched offers, which the provider negates if there were more', () => {
    const { history } = decodeProduct({ asin: 'A', csv: csvWith(15, [FIRST, 2, SECOND, -1]) }, 1);
    expect(history).toEqual({ offerUpdates: { time: TIMES, value: [2, 1] } });
  });

  test('names each series once', () => {
    expect(new Set(NAMED_SERIES.map(({ name }) => name)).size).toBe(SERIES_COUNT);
  });

  test('has whole yen for Japan', () => {
    const { history } = decodeProduct({ asin: 'A', csv: csvWith(0, [FIRST, 2530]) }, 5);
    expect(history).toMatchObject({ amazon: { value: [2530] } });
  });

  test('has the histories outside csv by name, and no raw ones', () => {
    const decoded = decodeProduct(
      {
        asin: 'A',
        title: 'T',
        salesRanks: { 281052: [FIRST, 7, SECOND, -1], 5: null },
        monthlySoldHistory: [FIRST, 50],
        couponHistory: [FIRST, 500, -10, SECOND, 0, 0],
        buyBoxSellerIdHistory: [String(FIRST), 'A1', String(SECOND), '-1'],
        buyBoxUsedHistory: [String(FIRST), 'A1', '2', '1', String(SECOND), '', '', ''],
        parentAsinHistory: [String(FIRST), 'B0PARENT01'],
        reviews: { lastUpdate: 1, reviewCount: [FIRST, 3] },
        offers: [{ sellerId: 'A1', offerCSV: [FIRST, 1000, -2], stockCSV: [FIRST, 4] }],
      },
      3,
    );
    expect(decoded).toEqual({
      asin: 'A',
      title: 'T',
      reviews: { lastUpdate: 1 },
      offers: [
        {
          sellerId: 'A1',
          history: {
            price: { time: [TIMES[0]], value: [10], shipping: [null] },
            stock: { time: [TIMES[0]], value: [4] },
          },
        },
      ],
      history: {
        salesRanks: { 281052: { time: TIMES, value: [7, null] } },
        monthlySold: { time: [TIMES[0]], value: [50] },
        coupon: {
          time: TIMES,
          amount: [5, null],
          percent: [null, null],
          subscribeAmount: [null, null],
          subscribePercent: [10, null],
        },
        buyBoxSeller: { time: TIMES, sellerId: ['A1', null] },
        buyBoxUsedSeller: { time: TIMES, sellerId: ['A1', null], condition: [2, null], isFba: [true, null] },
        parentAsin: { time: [TIMES[0]], asin: ['B0PARENT01'] },
        reviewCountOfVariation: { time: [TIMES[0]], value: [3] },
      },
    });
  });

  test('has statistics by name, without series that have no data', () => {
    const current = [1999, -1, -2, 300, ...Array<number>(12).fill(-1), 45];
    const { stats, statistics } = decodeProduct(
      {
        asin: 'A',
        stats: {
          current,
          min: [[FIRST, 999], null],
          minInInterval: [
            [-1, -1],
            [FIRST, 999],
          ],
          salesRankDrops30: 4,
        },
      },
      1,
    );
    expect(stats).toEqual({ salesRankDrops30: 4 });
    expect(statistics).toEqual({
      current: { amazon: 19.99, salesRank: 300, rating: 4.5 },
      min: { amazon: { time: TIMES[0], value: 9.99 } },
      minInInterval: { new: { time: TIMES[0], value: 9.99 } },
    });
  });
});

test('times of 0 and -1, which are unknown, are null in common units, and those before 2011 are not', () => {
  const record = {
    asin: 'A',
    lastUpdate: -1,
    trackingSince: FIRST,
    listedSince: -1_643_350,
    lastSoldUpdate: 0,
  };
  expect(readableProduct(record, 1)).toEqual({
    asin: 'A',
    lastUpdate: null,
    trackingSince: TIMES[0],
    listedSince: '2007-11-16T18:50:00Z',
    lastSoldUpdate: null,
  });
});

test('decode=0 is the same call as one without it, and decode=1 needs the same sources', () => {
  const sent = { domain: 1, asins: 'B000000001' };
  expect(canonical(product, { ...sent, decode: 0 })).toEqual(canonical(product, sent));
  const decoded = canonical(product, { ...sent, decode: 1 });
  expect(decoded.decode).toBe(true);
  const identities = (input: typeof decoded) => product.source(input).map(({ identity }) => identity);
  expect(identities(decoded)).toEqual(identities(canonical(product, sent)));
});

test.each(['summary', 'lite', 'full'] as const)(
  'a look-up decodes at detailLevel=%s, also as a table',
  (detailLevel) => {
    const input = canonical(product, { domain: 1, asins: 'B000000001', detailLevel, decode: 1 });
    const raw = {
      asin: 'B000000001',
      productType: 0,
      title: 'T',
      csv: csvWith(0, [FIRST, 1999]),
      stats: { current: [1999, 2099, -1, 300] },
    };
    if (product.respond.type !== 'json') throw new Error('not JSON');
    const { data } = product.respond.present(new Map([['B000000001', raw]]), input, {
      now: Date.UTC(2026, 1),
    });
    const [shown] = data.products as Record<string, unknown>[];
    expect(shown?.statistics).toMatchObject({ current: { amazon: 19.99, new: 20.99, salesRank: 300 } });
    expect(shown?.price).toBeUndefined();
    if (detailLevel !== 'summary')
      expect(shown?.history).toEqual({ amazon: { time: [TIMES[0]], value: [19.99] } });
    expect([...(product.tables?.products?.rows(data, input) ?? [])]).toMatchObject([
      { title: 'T', price: 20.99, amazonPrice: 19.99, bsr: 300 },
    ]);
  },
);
