import { describe, expect, test } from 'vitest';
import {
  atDetailLevel,
  DETAIL_HINTS,
  DETAIL_LEVELS,
  type DetailLevel,
  summaryRow,
} from '../../../src/operations/products/detail-level.ts';
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

const ALL = { csv: true, rating: true, buybox: true };
const NOTHING = { csv: false, rating: false, buybox: false };

function shown(product: Product, level: DetailLevel, requested = { ...ALL, csv: false }) {
  return atDetailLevel(product, level, requested);
}

describe('a product at detail level', () => {
  test('full has the whole product', () => {
    expect(shown(WHOLE, 'full')).toEqual(WHOLE);
  });

  test('lite omits csv, salesRanks and the list of the family, and counts its members', () => {
    const { csv: _csv, salesRanks: _ranks, variationCSV: _family, ...rest } = WHOLE;
    expect(shown(WHOLE, 'lite')).toEqual({ ...rest, variationsCount: 2 });
    const members = [{ asin: 'B000000001' }, { asin: 'B000000002' }, { asin: 'B000000003' }];
    const listed = shown({ ...WHOLE, variations: members }, 'lite');
    expect(listed).toEqual({ ...rest, variationsCount: 3 });
  });

  test('lite has no count for a product without a family', () => {
    const { variationCSV: _, ...alone } = WHOLE;
    expect(shown(alone, 'lite')).not.toHaveProperty('variationsCount');
  });

  test('lite keeps csv if history was requested', () => {
    expect(shown(WHOLE, 'lite', ALL)).toHaveProperty('csv', WHOLE.csv);
    expect(shown({ asin: 'B000000001' }, 'lite', ALL)).not.toHaveProperty('csv');
  });

  test('summary omits the rating and the Buy Box price if they were not fetched', () => {
    const unknown = { ...WHOLE, stats: { current: current.map((value, i) => (i > 15 ? -1 : value)) } };
    const bare = shown(unknown, 'summary', NOTHING);
    for (const field of ['rating', 'reviewCount', 'buyboxPrice']) expect(bare).not.toHaveProperty(field);
    expect(bare).toMatchObject({ price: 1001, bsr: 1003 });
    expect(shown(unknown, 'summary', ALL)).toMatchObject({ rating: -1, reviewCount: -1, buyboxPrice: -1 });
  });

  test('summary has the rating and the Buy Box price that upstream sent without a request', () => {
    expect(shown(WHOLE, 'summary', NOTHING)).toMatchObject({ rating: 1016, buyboxPrice: 1018 });
  });

  test.each(DETAIL_LEVELS)('%s makes the same row of a table at every level of the answer', (level) => {
    const row = summaryRow(shown(WHOLE, level) as Product, ALL);
    expect(row).toEqual(shown(WHOLE, 'summary'));
  });

  test('summary has the core fields, current prices and current counts', () => {
    expect(shown(WHOLE, 'summary')).toEqual({
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
    expect(shown({ asin: 'B000000001', domainId: 1 }, 'summary')).toEqual({
      asin: 'B000000001',
      domainId: 1,
      parentAsin: null,
      title: null,
      brand: null,
      image: null,
      price: -1,
      amazonPrice: -1,
      listPrice: -1,
      buyboxPrice: -1,
      bsr: -1,
      rating: -1,
      reviewCount: -1,
      countNew: -1,
      monthlySold: -1,
      lastUpdate: -1,
    });
  });

  test.each([
    ['-2, which is not collected', { current: current.map(() => -2) }],
    ['null', { current: current.map(() => null) }],
    ['a text', { current: current.map(String) }],
    ['too short', { current: [] }],
    ['absent', {}],
  ])('summary treats a current value that is %s as missing', (_, stats) => {
    expect(shown({ ...WHOLE, stats }, 'summary')).toMatchObject({
      price: -1,
      amazonPrice: -1,
      listPrice: -1,
      buyboxPrice: -1,
      bsr: -1,
      rating: -1,
      reviewCount: -1,
      countNew: -1,
    });
  });

  test('summary keeps a zero', () => {
    expect(shown({ ...WHOLE, stats: { current: [0, 0] } }, 'summary')).toMatchObject({
      amazonPrice: 0,
      price: 0,
    });
  });

  test.each([
    [{ images: [{ m: 'medium.jpg' }], imagesCSV: 'old.jpg' }, 'old.jpg'],
    [{ images: [{ m: 'medium.jpg' }], imagesCSV: null }, 'medium.jpg'],
    [{ images: [], imagesCSV: 'old.jpg,older.jpg' }, 'old.jpg'],
    [{ images: null, imagesCSV: 'only.jpg' }, 'only.jpg'],
    [{ images: null, imagesCSV: null }, null],
  ])('summary finds the first picture in each form of the provider: %j', (pictures, image) => {
    expect(shown({ ...WHOLE, ...pictures }, 'summary')).toHaveProperty('image', image);
  });

  test.each(DETAIL_LEVELS)('%s has a hint about the other levels', (level) => {
    const [, other] = /detailLevel=(\w+)/.exec(DETAIL_HINTS[level]) ?? [];
    expect(DETAIL_LEVELS.filter((name) => name !== level)).toContain(other);
  });
});
