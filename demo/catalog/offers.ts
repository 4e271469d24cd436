import { DAY } from '../minutes.ts';
import { all } from '../words.ts';
import { changesOf, type Listing, type Market, priceAt, stockOf } from './market.ts';
import { trackingSince } from './popularity.ts';
import type { ProductRequest } from './products.ts';
import { sellerAt } from './sellers.ts';
import type { ProductSketch } from './sketch.ts';

/** Offers that ended earlier are omitted. */
const LONGEST_DAYS = 365;

/** Returns the fields that an offers call adds: live and past offers, and the order of the live ones on the page. */
export function offersOf(product: ProductSketch, request: ProductRequest): Record<string, unknown> {
  const { nowMinutes, onlyLiveOffers, stock, days } = request;
  const { market } = product.popularity;
  const from = Math.max(trackingSince(product.facts), nowMinutes - (days ?? LONGEST_DAYS) * DAY);
  const found = market.listings
    .map((listing) => ({ listing, ...pricesOf(market, listing, from, nowMinutes) }))
    .filter(({ offerCSV, isLive }) => offerCSV.length > 0 && (isLive || !onlyLiveOffers));
  return {
    offers: found.map(({ listing, offerCSV, lastSeen }) => ({
      offerId: listing.id,
      sellerId: sellerAt(listing.seller).sellerId,
      lastSeen,
      condition: listing.condition,
      isPrime: listing.isFBA,
      isFBA: listing.isFBA,
      ...all('offers are not', false),
      ...all('offers have no', null),
      isShippable: true,
      isWarehouseDeal: listing.seller === 1,
      isAmazon: listing.seller === 0,
      couponHistory: [offerCSV[0], 0],
      coupon: 0,
      minOrderQty: 1,
      offerCSV,
      lastStockUpdate: stock ? lastSeen : 0,
      ...(stock ? { stockCSV: [lastSeen - DAY, 10, lastSeen, stockOf(listing, lastSeen)] } : {}),
    })),
    liveOffersOrder: found
      .flatMap(({ offerCSV, isLive }, i) => (isLive ? { i, cost: sum(offerCSV.slice(-2)) } : []))
      .sort((a, b) => a.cost - b.cost)
      .map(({ i }) => i),
    offersSuccessful: true,
    ...(stock ? { lastStockUpdate: nowMinutes } : {}),
  };
}

/** Returns a seller's prices in a period, [time, price, shipping] for each change, and when they were last seen. */
function pricesOf(market: Market, listing: Listing, from: number, to: number) {
  const offerCSV: number[] = [];
  let last = -1;
  let lastSeen = from;
  for (const time of [from, ...changesOf(listing, from, to).sort((a, b) => a - b)]) {
    const price = priceAt(market, listing, time);
    if (price === last) continue;
    if (price > 0) offerCSV.push(time, price, listing.shipping);
    else lastSeen = time;
    last = price;
  }
  const isLive = last > 0;
  return { offerCSV, isLive, lastSeen: isLive ? to : lastSeen };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
