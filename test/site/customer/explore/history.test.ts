import { describe, expect, test } from 'vitest';
import { decodeProduct } from '../../../../src/operations/products/decode-product.ts';
import { fromKeepaMinutes } from '../../../../src/operations/products/history.ts';
import type { Product } from '../../../../src/operations/products/product.ts';
import { type DecodedProduct, historyOf } from '../../../../src/site/customer/explore/product-page.tsx';
import { rowsOf } from '../../../../src/site/kit/time-chart.tsx';

const T = [7_000_000, 7_000_060, 7_000_120] as const;

function csvWith(series: Record<number, number[]>): (number[] | null)[] {
  return Array.from({ length: 36 }, (_, index) => series[index] ?? null);
}

/** The product as a call with `decode=1` returns it. */
function decoded(product: Product): DecodedProduct {
  return decodeProduct(product, product.domainId ?? 1) as DecodedProduct;
}

describe('the history of a product', () => {
  test('has prices in the currency of the site, and null where the provider has no data', () => {
    const csv = csvWith({ 0: [T[0], 1999, T[1], -1, T[2], 1499] });
    const [retailer] = historyOf(decoded({ asin: 'B0C3CDEF01', domainId: 2, csv }));
    expect(retailer).toMatchObject({ name: 'Retailer', format: { currency: 'GBP' } });
    expect(retailer?.points).toEqual([
      [fromKeepaMinutes(T[0]), 19.99],
      [fromKeepaMinutes(T[1]), null],
      [fromKeepaMinutes(T[2]), 14.99],
    ]);
  });

  test('adds shipping to the Buy Box price, whose points have three numbers', () => {
    const csv = csvWith({ 18: [T[0], 1000, 499, T[1], -1, -1] });
    const [buyBox] = historyOf(decoded({ asin: 'B0C3CDEF01', domainId: 1, csv }));
    expect(buyBox?.points.map(([, value]) => value)).toEqual([14.99, null]);
  });

  test('has whole yen, ratings in stars, and ranks as they are', () => {
    const csv = csvWith({ 1: [T[0], 2980], 3: [T[0], 512], 16: [T[0], 45] });
    const values = historyOf(decoded({ asin: 'B0C3CDEF01', domainId: 5, csv })).map(({ name, points }) => [
      name,
      points[0]?.[1],
    ]);
    expect(Object.fromEntries(values)).toEqual({ New: 2980, 'Sales rank': 512, Rating: 4.5 });
  });

  test('ends at the last update of the provider with the last value', () => {
    const csv = csvWith({ 3: [T[0], 512] });
    const [rank] = historyOf(decoded({ asin: 'B0C3CDEF01', domainId: 1, csv, lastUpdate: T[2] }));
    expect(rank?.points).toEqual([
      [fromKeepaMinutes(T[0]), 512],
      [fromKeepaMinutes(T[2]), 512],
    ]);
  });

  test('lacks a series that never had a value', () => {
    const csv = csvWith({ 0: [T[0], -1], 1: [T[0], 1999] });
    expect(historyOf(decoded({ asin: 'B0C3CDEF01', csv })).map(({ name }) => name)).toEqual(['New']);
  });

  test('is empty for a product without histories', () => {
    expect(historyOf(decoded({ asin: 'B0C3CDEF01', csv: null }))).toEqual([]);
  });
});

test('the table of a chart holds a value for the months without a change, up to a gap', () => {
  const at = (day: string) => Date.parse(day);
  const price = { name: 'New', scale: 'price', shown: true } as const;
  const series = [
    {
      ...price,
      points: [
        [at('2026-01-05'), 10],
        [at('2026-04-01'), null],
      ] as const,
    },
    { ...price, points: [[at('2026-03-01'), 7]] as const },
  ];
  expect(rowsOf(series, 'months')).toEqual([
    { label: '2026-04', values: [null, 7] },
    { label: '2026-03', values: [10, 7] },
    { label: '2026-01', values: [10, null] },
  ]);
  expect(rowsOf(series, 'times')[1]).toEqual({ label: '2026-03-01', values: [null, 7] });
});
