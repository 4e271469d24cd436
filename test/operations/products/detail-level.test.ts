import { describe, expect, test } from 'vitest';
import { atDetailLevel, DETAIL_HINTS, DETAIL_LEVELS } from '../../../src/operations/products/detail-level.ts';
import type { Product } from '../../../src/operations/products/product.ts';

const current = Array.from({ length: 36 }, (_, index) => 1000 + index);

const WHOLE: Product = {
  asin: 'B000000001',
  domainId: 5,
  parentAsin: 'B000000000',
  title: 'Rice cooker',
  brand: 'Example',
  csv: [[1, 2]],
  salesRanks: { 7: [1, 2] },
  variationCSV: 'B000000001,B000000002',
  stats: { current, avg: [1] },
  images: [{ l: 'large.jpg', m: 'medium.jpg' }, { l: 'second.jpg' }],
  imagesCSV: 'old.jpg,older.jpg',
  monthlySold: 300,
  lastUpdate: 8_000_000,
  itemHighlights: ['x'],
  offers: [{ lastSeen: 1 }],
  unheardOf: { deep: [1, null] },
};

describe('a product at detail level', () => {
  test('full has the whole product', () => {
    expect(atDetailLevel(WHOLE, 'full')).toEqual(WHOLE);
  });

  test('lite has everything except csv, salesRanks and variationCSV', () => {
    const { csv: _csv, salesRanks: _ranks, variationCSV: _family, ...rest } = WHOLE;
    expect(atDetailLevel(WHOLE, 'lite')).toEqual(rest);
  });

  test('summary has the core fields, current prices and current counts', () => {
    expect(atDetailLevel(WHOLE, 'summary')).toEqual({
      asin: 'B000000001',
      parentAsin: 'B000000000',
      title: 'Rice cooker',
      brand: 'Example',
      domainId: 5,
      price: 1001,
      amazonPrice: 1000,
      listPrice: 1004,
      buyboxPrice: 1018,
      bsr: 1003,
      rating: 1016,
      reviewCount: 1017,
      countNew: 1011,
      monthlySold: 300,
      image: 'large.jpg',
      lastUpdate: 8_000_000,
    });
  });

  test('summary has -1 for missing numbers and null for missing texts', () => {
    expect(atDetailLevel({ asin: 'B000000001', domainId: 1 }, 'summary')).toEqual({
      asin: 'B000000001',
      domainId: 1,
      ...{ parentAsin: null, title: null, brand: null, image: null },
      ...{ price: -1, amazonPrice: -1, listPrice: -1, buyboxPrice: -1, bsr: -1, rating: -1 },
      ...{ reviewCount: -1, countNew: -1, monthlySold: -1, lastUpdate: -1 },
    });
  });

  test.each([
    ['-2, which is not collected', { current: current.map(() => -2) }],
    ['null', { current: current.map(() => null) }],
    ['a text', { current: current.map(String) }],
    ['too short', { current: [] }],
    ['absent', {}],
  ])('summary treats a current value that is %s as missing', (_, stats) => {
    expect(atDetailLevel({ ...WHOLE, stats }, 'summary')).toMatchObject({
      ...{ price: -1, amazonPrice: -1, listPrice: -1, buyboxPrice: -1 },
      ...{ bsr: -1, rating: -1, reviewCount: -1, countNew: -1 },
    });
  });

  test('summary keeps a zero', () => {
    expect(atDetailLevel({ ...WHOLE, stats: { current: [0, 0] } }, 'summary')).toMatchObject({
      amazonPrice: 0,
      price: 0,
    });
  });

  test.each([
    [{ images: [{ m: 'medium.jpg' }], imagesCSV: 'old.jpg' }, 'old.jpg'],
    [{ images: [], imagesCSV: 'old.jpg,older.jpg' }, 'old.jpg'],
    [{ images: null, imagesCSV: 'only.jpg' }, 'only.jpg'],
    [{ images: null, imagesCSV: null }, null],
  ])('summary finds the first picture in each form of the provider: %j', (pictures, image) => {
    expect(atDetailLevel({ ...WHOLE, ...pictures }, 'summary')).toHaveProperty('image', image);
  });

  test.each(DETAIL_LEVELS)('%s does not change the product', (level) => {
    const before = structuredClone(WHOLE);
    atDetailLevel(WHOLE, level);
    expect(WHOLE).toEqual(before);
  });

  test.each(DETAIL_LEVELS)('%s has a hint about the other levels', (level) => {
    const [, other] = /detailLevel=(\w+)/.exec(DETAIL_HINTS[level]) ?? [];
    expect(DETAIL_LEVELS.filter((name) => name !== level)).toContain(other);
  });
});
