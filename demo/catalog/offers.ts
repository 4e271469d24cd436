import type { ProductRequest } from './products.ts';
import { fraction, hash } from './random.ts';
import { SELLER_COUNT, sellerAt } from './sellers.ts';
import type { ProductSketch } from './sketch.ts';

const DAY = 1440;

/** Returns the fields that an offers call adds: live and past offers, and the order of the live ones on the page. */
export function offersOf(product: ProductSketch, request: ProductRequest): Record<string, unknown> {
  const { asin, facts } = product;
  const { nowMinutes } = request;
  const liveCount = Math.min(request.offers, 2 + (hash('live', asin) % 12));
  const pastCount = request.onlyLiveOffers ? 0 : hash('past', asin) % 20;
  const price = product.current(18, nowMinutes);
  const offers = Array.from({ length: liveCount + pastCount }, (_, i) => {
    const isLive = i < liveCount;
    // The seller that the ASIN encodes always sells it.
    const seller = sellerAt(i === 0 ? facts.seller : hash('offer', asin, i) % SELLER_COUNT);
    const lastSeen = isLive ? nowMinutes : nowMinutes - DAY * (10 + (hash('gone', asin, i) % 400));
    const offerPrice = Math.round(price * (1 + 0.3 * fraction('offer', asin, i)));
    const shipping = fraction('offer-shipping', asin, i) < 0.3 ? 399 : 0;
    const isFBA = fraction('offer-fba', asin, i) < 0.5;
    return {
      offerId: i + 1,
      sellerId: seller.sellerId,
      lastSeen,
      condition: 1,
      conditionComment: null,
      isPrime: isFBA,
      isFBA,
      isMAP: false,
      isShippable: true,
      isPreorder: false,
      isWarehouseDeal: false,
      isAmazon: seller.index === 0,
      isPrimeExcl: false,
      isAddonItem: false,
      isScam: false,
      couponHistory: [lastSeen - 90 * DAY, 0],
      ...{ coupon: 0, primeExclCSV: null, offerDuplicates: null, lastStockUpdate: 0 },
      shipsFromChina: false,
      minOrderQty: 1,
      offerCSV: [
        lastSeen - 90 * DAY,
        offerPrice + 200,
        shipping,
        lastSeen - 30 * DAY,
        offerPrice + 100,
        shipping,
        lastSeen,
        offerPrice,
        shipping,
      ],
      ...(request.stock
        ? {
            stockCSV: [lastSeen - DAY, 10, lastSeen, 1 + (hash('stock', asin, i) % 10)],
            lastStockUpdate: lastSeen,
          }
        : {}),
    };
  });
  return {
    offers,
    liveOffersOrder: Array.from({ length: liveCount }, (_, i) => i),
    offersSuccessful: true,
    ...(request.stock ? { lastStockUpdate: nowMinutes } : {}),
  };
}
