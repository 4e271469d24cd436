import { cutSeries, type HistoryWindow, seenWithin } from './history-window.ts';
import { keepOffers } from './offers.ts';
import type { Offer, Product } from './product.ts';
import { pointWidth } from './series.ts';

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
