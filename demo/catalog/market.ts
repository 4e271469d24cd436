import { DAY } from '../minutes.ts';
import type { AsinFacts } from './asins.ts';
import {
  type Beat,
  beatOf,
  chanceOf,
  edgesBetween,
  lastBeat,
  type Spans,
  spanAt,
  spansOf,
  timeOf,
  timesBetween,
} from './beats.ts';
import { demandAt, type Leaf, leafAt } from './categories.ts';
import { curveAt, fraction, fractionOf, hashOf, plus, stateAfter } from './random.ts';
import { SELLER_COUNT } from './sellers.ts';

/** Index time begins with a year. */
export const YEAR_MINUTES = 365.25 * DAY;

/** What one seller offers, at all times. */
export interface Listing {
  id: number;
  /** Index of the seller; 0 is the marketplace itself. */
  seller: number;
  /** 1: new; 2 to 5: used, from like new to acceptable. */
  condition: number;
  isFBA: boolean;
  shipping: number;
  /** The seller's prices, relative to the product's. */
  level: number;
  reprices: Beat;
  promotions: Spans;
  /** Times when the seller does not offer it. */
  absences: Spans;
}

/** The offers of a product on a site. All figures about its prices and sellers are derived from them. */
export interface Market {
  leaf: Leaf;
  state: number;
  /** In cents, or in yen. */
  usualPrice: number;
  listPrice: number;
  listings: readonly Listing[];
}

/** An offer at a time. */
export interface Quote {
  listing: Listing;
  price: number;
  shipping: number;
}

/** Prices of used items by condition, from 2. */
const USED_LEVELS = [0.88, 0.8, 0.7, 0.6] as const;

/** How a kind of seller sets prices and runs out of stock. */
interface Habits {
  repriceDays: number;
  /** The days between the moments, the share of the moments at which a period begins, and the longest period in days. */
  promotions: readonly [days: number, share: number, longestDays: number];
  absences: readonly [days: number, share: number, longestDays: number];
}
const RETAILER: Habits = { repriceDays: 8, promotions: [38, 0.55, 12], absences: [50, 0.4, 14] };
const MAIN: Habits = { repriceDays: 11, promotions: [55, 0.4, 10], absences: [50, 0, 0] };
const RIVAL: Habits = { repriceDays: 15, promotions: [80, 0.2, 9], absences: [90, 0.55, 150] };

export function marketOf(
  { asin, familySeed, kind, leaf: leafIndex, seller }: AsinFacts,
  domain: number,
): Market {
  const leaf = leafAt(leafIndex);
  const state = stateAfter('market', domain, asin);
  const [lowest, highest] = leaf.prices;
  const familyPrice = 100 * lowest * (highest / lowest) ** fraction('price', familySeed);
  const usualPrice = familyPrice * (0.95 + 0.1 * fraction('price', asin)) * (domain === 5 ? 1.5 : 1);
  const listings: Listing[] = [];
  const add = (sellerIndex: number, condition: number, habits: Habits) => {
    if (listings.some((other) => other.seller === sellerIndex)) return;
    const own = plus(state, listings.length);
    const isSent = sellerIndex < 2 || fractionOf(plus(own, 1)) < 0.6;
    const dearer = habits === RIVAL ? 0.3 * fractionOf(plus(own, 2)) ** 2 : 0.02;
    listings.push({
      id: listings.length + 1,
      seller: sellerIndex,
      condition,
      isFBA: isSent,
      shipping: isSent || fractionOf(plus(own, 3)) < 0.5 ? 0 : 399,
      level: condition === 1 ? 0.98 + dearer : (USED_LEVELS[condition - 2] ?? 1) - dearer / 3,
      reprices: beatOf(plus(own, 4), habits.repriceDays * (0.6 + fractionOf(plus(own, 5)))),
      promotions: spansOf(plus(own, 6), habits.promotions),
      absences: spansOf(plus(own, 7), habits.absences),
    });
  };
  const anyone = (n: number) => 2 + (hashOf(plus(plus(state, 100), n)) % (SELLER_COUNT - 2));
  if (kind === 'product') {
    // The seller that the ASIN encodes always sells it; the seller of returned goods has only used ones.
    if (seller > 0 && fraction('amazon', familySeed) < 0.5) add(0, 1, RETAILER);
    add(seller, seller === 1 ? 3 : 1, MAIN);
    if (seller === 1) add(anyone(0), 1, MAIN);
    const rivals = Math.floor(10 * fractionOf(plus(state, 101)) ** 1.5);
    for (let n = 1; n <= rivals; n += 1) add(anyone(n), 1, RIVAL);
    const used = Math.max(0, Math.floor(6 * fractionOf(plus(state, 102))) - 1);
    for (let n = 11; n < 11 + used; n += 1) add(n === 11 ? 1 : anyone(n), 2 + (anyone(n) % 4), RIVAL);
  }
  const listPrice = Math.round((usualPrice * 1.3) / 100) * 100 - 1;
  return { leaf, state, usualPrice, listPrice, listings };
}

/** Returns a seller's price at a time; -1 if the seller does not offer the product. */
export function priceAt(market: Market, listing: Listing, minutes: number): number {
  if (spanAt(listing.absences, minutes) >= 0) return -1;
  const { reprices, promotions, level, condition, seller } = listing;
  let n = lastBeat(reprices, minutes);
  // Sellers often leave a price as it is.
  while (chanceOf(reprices, n, 0) < 0.35) n -= 1;
  const promotion = spanAt(promotions, minutes);
  const price =
    market.usualPrice *
    level *
    trendAt(market, timeOf(reprices, n)) *
    (0.985 + 0.03 * chanceOf(reprices, n, 1)) *
    (promotion < 0 ? 1 : 0.92 - 0.24 * chanceOf(promotions, promotion, 2));
  // Large sellers like prices that end with 9.
  return Math.max(99, condition === 1 && seller < 400 ? Math.round(price / 10) * 10 - 1 : Math.round(price));
}

/** Returns the level of all prices of a product, around 1. */
function trendAt({ leaf, state }: Market, minutes: number): number {
  const slow = 0.2 * curveAt(plus(state, 103), minutes / (75 * DAY));
  const fast = 0.06 * curveAt(plus(state, 104), minutes / (12 * DAY));
  return 1 + slow + fast + 0.12 * (demandAt(leaf.season, minutes / YEAR_MINUTES) - 1);
}

/** Returns the offer of a seller at a time; null if there is none. */
export function quoteAt(market: Market, listing: Listing, minutes: number): Quote | null {
  const price = priceAt(market, listing, minutes);
  return price < 0 ? null : { listing, price, shipping: listing.shipping };
}

/** Returns the live offers at a time. */
export function quotesAt(market: Market, minutes: number): Quote[] {
  return market.listings
    .map((listing) => quoteAt(market, listing, minutes))
    .filter((quote) => quote !== null);
}

/** Returns the times after `from`, until `to`, at which a seller may change the price, come or go. */
export function changesOf({ reprices, promotions, absences }: Listing, from: number, to: number): number[] {
  return [
    ...timesBetween(reprices, from, to),
    ...edgesBetween(promotions, from, to),
    ...edgesBetween(absences, from, to),
  ];
}

/** Returns how many items a seller has, at most ten. */
export function stockOf({ reprices }: Listing, minutes: number): number {
  return 1 + Math.floor(10 * chanceOf(reprices, lastBeat(reprices, minutes), 2));
}

/** The csv series about offers. */
export const MARKET_SERIES = [0, 1, 2, 7, 10, 11, 12, 18, 32, 34, 35] as const;

/** The live offers of a time as the site shows them. */
interface MarketState {
  /** The values of MARKET_SERIES: a price and its shipping for some, otherwise one number. */
  values: readonly (readonly number[])[];
  /** The offers in the buy boxes of new and used items. */
  box: Quote | null;
  usedBox: Quote | null;
}

type Best = Record<'retailer' | 'fresh' | 'fba' | 'fbm' | 'box' | 'used', Quote | null>;

/** The site prefers an offer that it sends itself. */
const SENT_BY_SELLER = 1.05;

export function stateOf(quotes: readonly Quote[]): MarketState {
  const best: Best = { retailer: null, fresh: null, fba: null, fbm: null, box: null, used: null };
  let [fbaCount, fbmCount] = [0, 0];
  for (const quote of quotes) {
    const { condition, isFBA, seller } = quote.listing;
    if (condition > 1) {
      best.used = better(best.used, quote);
      continue;
    }
    best.fresh = better(best.fresh, quote);
    best.box = better(best.box, quote, SENT_BY_SELLER);
    if (seller === 0) best.retailer = quote;
    else if (isFBA) best.fba = better(best.fba, quote);
    if (isFBA) fbaCount += 1;
    else {
      best.fbm = better(best.fbm, quote);
      fbmCount += 1;
    }
  }
  const fresh = fbaCount + fbmCount;
  const values = [
    [landed(best.retailer)],
    [landed(best.fresh)],
    [landed(best.used)],
    pairOf(best.fbm),
    [landed(best.fba)],
    [fresh],
    [quotes.length - fresh],
    pairOf(best.box),
    pairOf(best.used),
    [fbaCount],
    [fbmCount],
  ];
  return { values, box: best.box, usedBox: best.used };
}

function better(best: Quote | null, quote: Quote, bySeller = 1): Quote {
  return best && landed(best, bySeller) <= landed(quote, bySeller) ? best : quote;
}

/** Returns a price with its shipping. */
function landed(quote: Quote | null, bySeller = 1): number {
  return quote ? (quote.price + quote.shipping) * (quote.listing.isFBA ? 1 : bySeller) : -1;
}

function pairOf(quote: Quote | null): number[] {
  return quote ? [quote.price, quote.shipping] : [-1, -1];
}
