import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { product as operation } from '../../../src/operations/market/product.ts';
import { normaliseProduct, type Product } from '../../../src/operations/products/product.ts';
import { canonical } from '../../support/parameters.ts';
import { words } from '../../support/words.ts';

const NOW = Date.parse('2026-03-04T10:00:00Z');
const FIELDS = words(`
  domainId productType parentAsin title brand csv stats salesRanks images imagesCSV monthlySold
  lastUpdate offers liveOffersOrder reviews variationCSV monthlySoldHistory couponHistory
  buyBoxSellerIdHistory buyBoxUsedHistory other
`);

function shown(raw: Product, sent: object): Record<string, unknown> {
  const input = canonical(operation, { domain: 1, asins: raw.asin, ...sent });
  const { respond } = operation;
  if (respond.type !== 'json') throw new Error('products are JSON');
  return respond.present(new Map([[raw.asin, normaliseProduct(raw)]]), input, { now: NOW }).data;
}

describe('a product with a field of an unexpected type', () => {
  const scalar = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null));
  const anything = fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 4 }),
    fc.array(fc.array(scalar, { maxLength: 4 }), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('l', 'current', 'lastSeen', '7', 'ratingCount', 'x'), scalar, {
      noNullPrototype: true,
    }),
    fc.array(fc.dictionary(fc.constantFrom('l', 'lastSeen', 'offerCSV'), scalar, { noNullPrototype: true }), {
      maxLength: 4,
    }),
    fc.dictionary(fc.constantFrom('current', 'avg', '7', 'reviewCount'), fc.array(scalar, { maxLength: 4 }), {
      noNullPrototype: true,
    }),
  );

  test('is returned at every detail level, cut and limited', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...FIELDS), anything, { maxKeys: 6 }),
        fc.constantFrom(
          { detailLevel: 'summary' },
          ...['lite', 'full'].flatMap((detailLevel) => [
            { detailLevel },
            { detailLevel, days: 30 },
            { detailLevel, dateRange: { start: 0, end: NOW } },
          ]),
        ),
        fc.constantFrom({}, { offers: 1 }),
        (fields, shape, offers) => {
          const { count, errors } = shown({ asin: 'B000000001', ...fields }, { ...shape, ...offers });
          expect(Number(count) + (errors as unknown[]).length).toBe(1);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
