import { DAY_MS } from '../../platform/durations.ts';
import type { Offer, Product } from './product.ts';

/** Index time counts minutes from 2011-01-01T00:00Z. */
const EPOCH_MINUTES = 21_564_000;

/** Converts an index time to Unix milliseconds. */
export function fromKeepaMinutes(minutes: number): number {
  return (minutes + EPOCH_MINUTES) * 60_000;
}

/** Converts Unix milliseconds to an index time, rounded down. */
export function toKeepaMinutes(unixMs: number): number {
  return Math.floor(unixMs / 60_000) - EPOCH_MINUTES;
}

/**
 * The number of entries in csv and in each array of the stats. Upstream had 34 before February 2026, and data stored
 * before then still has.
 */
export const SERIES_COUNT = 36;

/** The indices of series in csv, in the stats and in deals. */
export const SERIES = {
  AMAZON: 0,
  NEW: 1,
  SALES: 3,
  LISTPRICE: 4,
  COUNT_NEW: 11,
  OFFER_UPDATES: 15,
  RATING: 16,
  COUNT_REVIEWS: 17,
  BUY_BOX_SHIPPING: 18,
} as const;

/** The csv series whose points are [time, price, shipping]; all others are [time, value]. */
const WITH_SHIPPING = new Set([7, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 32]);

/** Returns the number of entries in one point of a csv series. */
export function pointWidth(seriesIndex: number): 2 | 3 {
  return WITH_SHIPPING.has(seriesIndex) ? 3 : 2;
}

/** How the values of a series are shown. */
export type SeriesKind = 'price' | 'count' | 'stars';

interface NamedSeries {
  name: string;
  kind: SeriesKind;
  description: string;
}

/** The series of csv and of the statistics, in the order of their indices. */
export const NAMED_SERIES: readonly NamedSeries[] = [
  price('amazon', "The retailer's own price"),
  price('new', 'Lowest new price; with shipping since February 2026'),
  price('used', 'Lowest used price'),
  count('salesRank', 'Sales rank in the main category'),
  price('listPrice', 'List price'),
  price('collectible', 'Lowest price of a collectible'),
  price('refurbished', 'Lowest price of a refurbished product'),
  price('newFbm', 'Lowest new price of offers that sellers fulfil'),
  price('lightningDeal', 'Price of a lightning deal'),
  price('warehouse', 'Price of the warehouse of the retailer'),
  price('newFba', 'Lowest new price of third-party offers that the marketplace fulfils'),
  count('newOffers', 'Number of new offers'),
  count('usedOffers', 'Number of used offers'),
  count('refurbishedOffers', 'Number of refurbished offers'),
  count('collectibleOffers', 'Number of collectible offers'),
  count('offerUpdates', 'Number of offers fetched at each update of the offers'),
  { name: 'rating', kind: 'stars', description: 'Rating, 0 to 5 stars' },
  count('reviewCount', 'Number of reviews'),
  price('buyBox', 'Price of the Buy Box'),
  price('usedLikeNew', 'Lowest price, used like new'),
  price('usedVeryGood', 'Lowest price, used in very good condition'),
  price('usedGood', 'Lowest price, used in good condition'),
  price('usedAcceptable', 'Lowest price, used in acceptable condition'),
  price('collectibleLikeNew', 'Lowest price of a collectible like new'),
  price('collectibleVeryGood', 'Lowest price of a collectible in very good condition'),
  price('collectibleGood', 'Lowest price of a collectible in good condition'),
  price('collectibleAcceptable', 'Lowest price of a collectible in acceptable condition'),
  price('refurbishedWithShipping', 'Lowest price of a refurbished product, with its shipping'),
  price('ebayNew', 'Lowest new price on eBay'),
  price('ebayUsed', 'Lowest used price on eBay'),
  price('tradeIn', 'Trade-in price'),
  price('rental', 'Rental price'),
  price('buyBoxUsed', 'Price of the Buy Box for used products'),
  price('primeExclusive', 'Lowest new price for Prime members only'),
  count('newFbaOffers', 'Number of new offers that the marketplace fulfils'),
  count('newFbmOffers', 'Number of new offers that sellers fulfil'),
];

function price(name: string, description: string): NamedSeries {
  return { name, kind: 'price', description };
}

function count(name: string, description: string): NamedSeries {
  return { name, kind: 'count', description };
}

/** Digits after the decimal point of the currency of a site; the provider counts in the smallest unit. */
export function currencyDigits(domain: number): number {
  return domain === 5 ? 0 : 2;
}

/** A period in Unix milliseconds, both ends included; open without `endMs`. */
export interface HistoryWindow {
  startMs: number;
  endMs?: number;
}

/** Returns the window of the last `days` times 24 hours. */
export function lastDays(days: number, nowMs: number): HistoryWindow {
  return { startMs: nowMs - days * DAY_MS };
}

/**
 * Cuts a series to a window. A series holds changes only, so the last point before the window is kept, with its own
 * time, because its value still applies when the window starts.
 * @param series points of `width` entries each, oldest first. The first entry of a point is its index time, in some
 *   series as a text.
 */
export function cutSeries<Entry extends number | string>(
  series: readonly Entry[],
  width: number,
  { startMs, endMs = Number.POSITIVE_INFINITY }: HistoryWindow,
): Entry[] {
  const pointCount = Math.floor(series.length / width);
  const timeOf = (point: number) => fromKeepaMinutes(Number(series[point * width]));
  const from = firstPoint(pointCount, (point) => timeOf(point) > startMs);
  const to = firstPoint(pointCount, (point) => timeOf(point) > endMs);
  return series.slice(Math.max(0, from - 1) * width, to * width);
}

/** Returns the first point for which `holds` is true, by binary search: it stays true for all later points. */
function firstPoint(count: number, holds: (point: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Returns whether an object last seen at an index time still existed when the window started. */
export function seenWithin(lastSeen: number, { startMs }: HistoryWindow): boolean {
  return lastSeen >= toKeepaMinutes(startMs);
}

/**
 * Returns a copy with at most `count` offers: live ones first, in page order, then the most recently seen. Upstream
 * returns at least 20 and mixes live and past offers.
 */
export function limitOffers(product: Product, count: number): Product {
  const { offers, liveOffersOrder } = product;
  if (!offers || offers.length <= count) return product;
  // The order may list an offer twice.
  const live = new Set((liveOffersOrder ?? []).filter((index) => index >= 0 && index < offers.length));
  const past = offers
    .map((_, index) => index)
    .filter((index) => !live.has(index))
    .sort((a, b) => (offers[b]?.lastSeen ?? 0) - (offers[a]?.lastSeen ?? 0));
  return keepOffers(product, [...live, ...past].slice(0, count));
}

/** Returns the product without offers, which upstream also sends with stock data. */
export function withoutOffers(product: Product): Product {
  if (!product.offers) return product;
  const { offers: _, liveOffersOrder: __, ...rest } = product;
  return rest;
}

/** Returns a copy with only the offers at these indices, in that order, and a matching `liveOffersOrder`. */
function keepOffers(product: Product, indices: readonly number[]): Product {
  const { offers, liveOffersOrder } = product;
  if (!offers) return product;
  const newIndex = new Map(indices.map((index, position) => [index, position]));
  return {
    ...product,
    offers: indices.flatMap((index) => offers.slice(index, index + 1)),
    ...(liveOffersOrder
      ? { liveOffersOrder: liveOffersOrder.flatMap((index) => newIndex.get(index) ?? []) }
      : {}),
  };
}

/** Entries of one point in each history outside csv. Some entries are texts. */
const PRODUCT_HISTORIES = {
  monthlySoldHistory: 2,
  salesRankReferenceHistory: 2,
  parentAsinHistory: 2,
  couponHistory: 3,
  buyBoxSellerIdHistory: 2,
  buyBoxUsedHistory: 4,
} as const;

const OFFER_HISTORIES = { offerCSV: 3, stockCSV: 2, primeExclCSV: 2, couponHistory: 2 } as const;

const REVIEW_HISTORIES = { ratingCount: 2, reviewCount: 2 } as const;

/** Returns a copy of the product with its histories cut to the window, and without offers that ended before it. */
export function cutHistory(product: Product, window: HistoryWindow): Product {
  const cut: Product = { ...product, ...cutFields(product, PRODUCT_HISTORIES, window) };
  if (product.csv) {
    cut.csv = product.csv.map((series, index) => series && cutSeries(series, pointWidth(index), window));
  }
  if (product.salesRanks) {
    cut.salesRanks = Object.fromEntries(
      Object.entries(product.salesRanks).map(([category, series]) => [
        category,
        series && cutSeries(series, 2, window),
      ]),
    );
  }
  if (product.reviews)
    cut.reviews = { ...product.reviews, ...cutFields(product.reviews, REVIEW_HISTORIES, window) };
  if (!product.offers) return cut;
  const seen = product.offers.flatMap((offer, index) =>
    offer.lastSeen === undefined || seenWithin(offer.lastSeen, window) ? [index] : [],
  );
  const kept = keepOffers(cut, seen);
  return { ...kept, offers: (kept.offers ?? []).map((offer) => cutOffer(offer, window)) };
}

function cutOffer(offer: Offer, window: HistoryWindow): Offer {
  return { ...offer, ...cutFields(offer, OFFER_HISTORIES, window) };
}

function cutFields(
  owner: Readonly<Record<string, unknown>>,
  widths: Readonly<Record<string, number>>,
  window: HistoryWindow,
): Record<string, unknown> {
  const cut: Record<string, unknown> = {};
  for (const [field, width] of Object.entries(widths)) {
    const series = owner[field];
    if (Array.isArray(series)) cut[field] = cutSeries(series as (number | string)[], width, window);
  }
  return cut;
}
