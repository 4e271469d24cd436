import { DAY } from '../minutes.ts';
import { all } from '../words.ts';
import { changesOf, type Listing, type Market, priceAt, stockOf } from './market.ts';
import { trackingSince } from './popularity.ts';
import type { ProductRequest } from './products.ts';
import { sellerAt } from './sellers.ts';
import type { BoxChange, History } from './series.ts';
import type { ProductSketch } from './sketch.ts';
import { mean, toPoints } from './stats.ts';

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

/** The fields of the statistics about the buy box when it was not asked for. */
const UNKNOWN = all('unknown buy boxes have no', null);

/** Returns the fields of the statistics about the buy box, which are known only after a call that asks for it. */
export function buyBoxStats(history: History, request: ProductRequest): Record<string, unknown> {
  const { csv, boxes, usedBoxes } = history;
  const { buybox, offers, nowMinutes } = request;
  const listing = boxes.at(-1)?.quote?.listing;
  const used = usedBoxes.at(-1)?.quote?.listing;
  if (!listing || !(buybox || offers > 0)) return UNKNOWN;
  const [price = -1, shipping = -1] = csv[18]?.slice(-2) ?? [];
  const [usedPrice = -1, usedShipping = -1] = csv[32]?.slice(-2) ?? [];
  const listPrice = csv[4]?.at(-1) ?? -1;
  const isCheaper = price < listPrice;
  return {
    ...UNKNOWN,
    buyBoxPrice: price,
    buyBoxShipping: shipping,
    buyBoxSellerId: sellerAt(listing.seller).sellerId,
    buyBoxCondition: 1,
    lastBuyBoxUpdate: nowMinutes,
    ...all('buy boxes are not', false),
    buyBoxIsShippable: true,
    buyBoxIsFBA: listing.isFBA,
    buyBoxIsAmazon: listing.seller === 0,
    buyBoxIsPrimeEligible: listing.isFBA,
    buyBoxIsFreeShippingEligible: shipping === 0,
    buyBoxAvailabilityMessage: 'IN_STOCK',
    buyBoxShippingTime: [0, 24],
    buyBoxSavingBasis: isCheaper ? listPrice : null,
    buyBoxSavingBasisType: isCheaper ? 'LIST_PRICE' : null,
    buyBoxSavingPercentage: isCheaper ? Math.round((100 * (listPrice - price)) / listPrice) : null,
    buyBoxStats: shares(history, 18, request),
    buyBoxUsedStats: shares(history, 32, request),
    buyBoxUsedPrice: usedPrice,
    buyBoxUsedShipping: usedShipping,
    buyBoxUsedSellerId: used ? sellerAt(used.seller).sellerId : null,
    buyBoxUsedIsFBA: used?.isFBA ?? null,
    buyBoxUsedCondition: used?.condition ?? null,
  };
}

/** Returns how long each seller had a buy box in the period of the statistics, and at which price. */
function shares(
  { csv, boxes, usedBoxes }: History,
  index: 18 | 32,
  { statsDays, nowMinutes }: ProductRequest,
) {
  const from = nowMinutes - (statsDays ?? 90) * DAY;
  const average = (series: number, start = from, end = nowMinutes) =>
    mean(toPoints(csv[series] ?? null, series), start, end);
  const won = new Map<Listing, { minutes: number; cost: number; lastSeen: number }>();
  const changes = index === 18 ? boxes : usedBoxes;
  changes.forEach(({ time, quote }, i) => {
    const [start, lastSeen] = [Math.max(from, time), changes[i + 1]?.time ?? nowMinutes];
    if (!quote || lastSeen <= start) return;
    const { minutes, cost } = won.get(quote.listing) ?? { minutes: 0, cost: 0 };
    const length = lastSeen - start;
    const paid = cost + length * average(index, start, lastSeen);
    won.set(quote.listing, { minutes: minutes + length, cost: paid, lastSeen });
  });
  const total = [...won.values()].reduce((sum, { minutes }) => sum + minutes, 0);
  return Object.fromEntries(
    [...won].map(([{ seller, isFBA, condition }, { minutes, cost, lastSeen }]) => [
      sellerAt(seller).sellerId,
      {
        percentageWon: Math.round((1000 * minutes) / total) / 10,
        avgPrice: Math.round(cost / minutes),
        avgNewOfferCount: average(11),
        avgUsedOfferCount: average(12),
        isFBA,
        lastSeen,
        ...(index === 32 ? { condition } : {}),
      },
    ]),
  );
}

/** Returns who had the buy box: time and seller, as texts. */
export function buyBoxHistory(boxes: readonly BoxChange[]): string[] {
  return boxes.flatMap(({ time, quote }) => [
    String(time),
    quote ? sellerAt(quote.listing.seller).sellerId : '-1',
  ]);
}

/** Returns who had the used buy box: time, seller, condition and whether the site sends it, as texts. */
export function usedBuyBoxHistory(usedBoxes: readonly BoxChange[]): string[] {
  return usedBoxes.flatMap(({ time, quote }) => {
    if (!quote) return [String(time), '', '', ''];
    const { seller, condition, isFBA } = quote.listing;
    return [String(time), sellerAt(seller).sellerId, String(condition), isFBA ? '1' : '0'];
  });
}
