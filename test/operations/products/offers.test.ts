import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limitOffers } from '../../../src/operations/products/history.ts';
import type { Product } from '../../../src/operations/products/product.ts';

const product = (offers: object[], liveOffersOrder?: number[]): Product => ({
  asin: 'B000000001',
  offers: offers as { lastSeen?: number }[],
  ...(liveOffersOrder ? { liveOffersOrder } : {}),
});
const ids = ({ offers }: Product) => offers?.map(({ offerId }) => offerId);

const MIXED = [
  { offerId: 1, lastSeen: 50 },
  { offerId: 2, lastSeen: 900 },
  { offerId: 3, lastSeen: 70 },
  { offerId: 4, lastSeen: 900 },
  { offerId: 5 },
];

describe('offers limited to a number', () => {
  test.each([
    [1, [4]],
    [2, [4, 2]],
    [3, [4, 2, 3]],
    [4, [4, 2, 3, 1]],
  ])('of %i are the live ones in page order, followed by the most recently seen', (count, expected) => {
    const limited = limitOffers(product(MIXED, [3, 1]), count);
    expect(ids(limited)).toEqual(expected);
    expect(limited.liveOffersOrder).toEqual([0, 1].slice(0, count));
  });

  test('are unchanged if upstream sent fewer', () => {
    const whole = product(MIXED, [3, 1]);
    expect(limitOffers(whole, 5)).toEqual(whole);
    expect(limitOffers(whole, Number.POSITIVE_INFINITY)).toEqual(whole);
  });

  test('are limited without an order of live offers, and with an invalid one', () => {
    expect(ids(limitOffers(product(MIXED), 2))).toEqual([2, 4]);
    expect(limitOffers(product(MIXED), 2)).not.toHaveProperty('liveOffersOrder');
    const odd = limitOffers(product(MIXED, [9, 0, -1]), 2);
    expect(ids(odd)).toEqual([1, 2]);
    expect(odd.liveOffersOrder).toEqual([0]);
  });

  test('are each returned once, even if the order of live offers lists one twice', () => {
    const limited = limitOffers(product(MIXED, [3, 1, 3, 0]), 4);
    expect(ids(limited)).toEqual([4, 2, 1, 3]);
    expect(limited.liveOffersOrder).toEqual([0, 1, 0, 2]);
  });

  test('of a product without offers are empty', () => {
    expect(limitOffers({ asin: 'B000000001' }, 3)).toEqual({ asin: 'B000000001' });
    expect(limitOffers({ asin: 'B000000001', offers: null }, 3).offers).toBeNull();
  });

  test('have the requested number, and an order of live offers that points to the same offers', () => {
    const offers = fc.array(fc.record({ lastSeen: fc.integer({ min: 0, max: 9 }) }), { maxLength: 12 });
    const products = offers.chain((list) =>
      fc.shuffledSubarray([...list.keys()]).map((live) =>
        product(
          list.map((offer, offerId) => ({ ...offer, offerId })),
          live,
        ),
      ),
    );
    fc.assert(
      fc.property(products, fc.integer({ min: 1, max: 15 }), (whole, count) => {
        const limited = limitOffers(whole, count);
        expect(limited.offers).toHaveLength(Math.min(count, whole.offers?.length ?? 0));
        const live = limited.liveOffersOrder?.map((index) => limited.offers?.[index]?.offerId);
        expect(live).toEqual(whole.liveOffersOrder?.slice(0, count));
      }),
    );
  });
});
