import { describe, expect, test } from 'vitest';
import { normaliseProduct, type Product } from '../../../src/operations/products/product.ts';

const NUMBERS = ['current', 'avg', 'avg30', 'avg90', 'avg180', 'avg365', 'atIntervalStart'];
const OUT_OF_STOCK = ['InInterval', '30', '90', '180', '365'].map((span) => `outOfStockPercentage${span}`);
const EXTREMES = ['min', 'max', 'minInInterval', 'maxInInterval'];
const SWITCHES = ['isLowest', 'isLowest90'];

function statsOf(length: number): Record<string, unknown[]> {
  return Object.fromEntries([
    ...[...NUMBERS, ...OUT_OF_STOCK].map((field) => [field, Array(length).fill(7)] as const),
    ...EXTREMES.map((field) => [field, Array(length).fill([1, 7])] as const),
    ...SWITCHES.map((field) => [field, Array(length).fill(true)] as const),
  ]);
}

function productWith(length: number): Product {
  return { asin: 'B000000001', csv: Array<number[]>(length).fill([1, 2]), stats: statsOf(length) };
}

describe('a product normalised to 36 series', () => {
  test('has the value for missing data in the two newest series if upstream sent 34', () => {
    const { csv, stats } = normaliseProduct(productWith(34));
    expect(csv).toEqual([...Array<number[]>(34).fill([1, 2]), null, null]);
    for (const field of [...NUMBERS, ...OUT_OF_STOCK]) {
      expect(stats?.[field], field).toEqual([...Array<number>(34).fill(7), -1, -1]);
    }
    for (const field of EXTREMES) {
      expect(stats?.[field], field).toEqual([...Array<number[]>(34).fill([1, 7]), null, null]);
    }
    for (const field of SWITCHES) {
      expect(stats?.[field], field).toEqual([...Array<boolean>(34).fill(true), false, false]);
    }
  });

  test.each([36, 38])('is unchanged if upstream sent %i series', (length) => {
    expect(normaliseProduct(productWith(length))).toEqual(productWith(length));
  });

  test('keeps missing, null and unknown fields', () => {
    const products: Product[] = [
      { asin: 'B000000001' },
      { asin: 'B000000001', csv: null, stats: null },
      { asin: 'B000000001', stats: { buyBoxPrice: -2, lightningDealInfo: [1, -1], current: null } },
      { asin: 'B000000001', renamedField: { any: [1] }, offers: [{ lastSeen: 4, odd: true }] },
    ];
    for (const product of products) expect(normaliseProduct(product)).toEqual(product);
  });

  test('is a copy of the fetched product', () => {
    const product = productWith(34);
    normaliseProduct(product);
    expect(product).toEqual(productWith(34));
  });
});
