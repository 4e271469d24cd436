import { LRUCache } from 'lru-cache';
import { DAY } from '../minutes.ts';
import { timesBetween } from './beats.ts';
import { type CategoryNode, leafAt, pathOfLeaf } from './categories.ts';
import { aPlusOf, descriptionOf, saleOf, videosOf } from './details.ts';
import { type Listing, quotesAt, stockOf } from './market.ts';
import { buyBoxHistory, buyBoxStats, offersOf, usedBuyBoxHistory } from './offers.ts';
import { monthlySoldAt, type Popularity, trackingSince } from './popularity.ts';
import { hash } from './random.ts';
import { categoryRank, type History, historyOf } from './series.ts';
import { type ProductSketch, sketch } from './sketch.ts';
import { statsOf, WITH_SHIPPING } from './stats.ts';

export interface ProductRequest {
  domain: number;
  nowMinutes: number;
  statsDays: number | null;
  history: boolean;
  /** Keeps only the last N days of history. */
  days: number | null;
  offers: number;
  onlyLiveOffers: boolean;
  rating: boolean;
  buybox: boolean;
  stock: boolean;
  videos: boolean;
  aplus: boolean;
  historicalVariations: boolean;
}

/** Series that upstream fills only with buybox or offers, or with rating. */
const BUY_BOX_SERIES = new Set([18, 32]);
const OFFER_SERIES = new Set([7, 10]);
const RATING_SERIES = new Set([16, 17]);

/** Returns one element of an answer's `products`, or null for an unknown ASIN. */
export function productOf(asin: string, request: ProductRequest): Record<string, unknown> | null {
  const product = sketch(asin, request.domain);
  const { facts } = product;
  if (facts.kind === 'unknown') return null;
  const { nowMinutes, domain } = request;
  if (facts.kind === 'gone') return goneProduct(asin, request);
  const { popularity } = product;
  const since = trackingSince(facts);
  const history = historyOf(product.popularity, since, nowMinutes);
  const csv = csvOf(history, request);
  const path = pathOfLeaf(facts.leaf);
  const rootRank = csv[3] ?? [];
  const [root] = path;
  const withStats =
    request.statsDays === null ? {} : { stats: fullStats(product, { ...history, csv }, request) };
  const cut = (series: number[], width: number) => lastDays(series, width, request);
  const ifHistory = <T>(make: () => T) => (request.history ? make() : null);
  const hasBuyBox = request.buybox || request.offers > 0;
  return {
    asin,
    domainId: domain,
    productType: facts.kind === 'parent' ? 5 : 0,
    ...descriptionOf(product),
    parentAsin: facts.kind === 'parent' ? null : (facts.family?.parent ?? null),
    variations: facts.family && variationsOf(facts.family, domain),
    ...(request.historicalVariations ? { historicalVariations: [] } : {}),
    rootCategory: root?.catId,
    categories: [path.at(-1)?.catId],
    categoryTree: path.map(({ catId, name }) => ({ catId, name })),
    salesRankReference: root?.catId,
    salesRankReferenceHistory: ifHistory(() => [since, root?.catId ?? 0]),
    salesRanks: ifHistory(() => ranksByCategory(path, rootRank, cut)),
    images: imagesOf(product.imageName),
    ...saleOf(product, request),
    monthlySold: monthlySoldAt(popularity, nowMinutes),
    monthlySoldHistory: ifHistory(() => cut(monthlySoldHistory(popularity, since, nowMinutes), 2)),
    buyBoxSellerIdHistory:
      request.history && hasBuyBox ? cutTexts(buyBoxHistory(history.boxes), 2, request) : null,
    buyBoxUsedHistory:
      request.history && hasBuyBox ? cutTexts(usedBuyBoxHistory(history.usedBoxes), 4, request) : null,
    buyBoxEligibleOfferCounts: hasBuyBox ? [...offerCounts(product, nowMinutes), 0, 0, 0, 0] : null,
    trackingSince: since,
    listedSince: since - 20 * DAY,
    lastUpdate: nowMinutes - (hash('updated', asin) % 60),
    lastPriceChange: csv[1]?.at(-2) ?? 0,
    lastRatingUpdate: nowMinutes - (nowMinutes % DAY),
    csv: ifHistory(() => csv.map((series, index) => series && cut(series, WITH_SHIPPING.has(index) ? 3 : 2))),
    ...(request.rating
      ? { reviews: { lastUpdate: nowMinutes, ratingCount: csv[17], reviewCount: csv[17] } }
      : {}),
    ...(request.videos ? { videos: videosOf(product) } : {}),
    ...(request.aplus ? { aPlus: aPlusOf(product, leafAt(facts.leaf)) } : {}),
    // The parent of a family cannot be bought.
    ...(request.offers > 0 && facts.kind === 'product' ? offersOf(product, request) : {}),
    ...withStats,
  };
}

/** A product has one picture, in two sizes. */
function imagesOf(name: string) {
  return [{ l: name, lH: 1500, lW: 1500, m: name.replace('L.', 'M.'), mH: 500, mW: 500 }];
}

/** The provider returns an ASIN without data as an element without values. */
function goneProduct(asin: string, { domain, nowMinutes, statsDays }: ProductRequest) {
  const csv = Array<null>(36).fill(null);
  const stats = statsDays === null ? {} : { stats: statsOf(csv, nowMinutes, statsDays) };
  return { asin, domainId: domain, productType: 4, title: null, categories: null, csv, ...stats };
}

/** Returns the series that the request asks for. */
function csvOf({ csv }: History, { offers, buybox, rating }: ProductRequest): (number[] | null)[] {
  return csv.map((series, index) => {
    const onDemand =
      (BUY_BOX_SERIES.has(index) && !buybox && offers === 0) ||
      (OFFER_SERIES.has(index) && offers === 0) ||
      (RATING_SERIES.has(index) && !rating);
    return onDemand ? null : series;
  });
}

function fullStats(product: ProductSketch, history: History, request: ProductRequest) {
  const { nowMinutes, statsDays, offers, stock } = request;
  const stats = { ...statsOf(history.csv, nowMinutes, statsDays ?? 90), ...buyBoxStats(history, request) };
  if (offers === 0) return stats;
  const [newFba, newFbm, usedFba, usedFbm] = offerCounts(product, nowMinutes);
  const stockBy = (listing: Listing | undefined) => (stock && listing ? stockOf(listing, nowMinutes) : -2);
  const live = quotesAt(product.popularity.market, nowMinutes);
  return {
    ...stats,
    lastOffersUpdate: nowMinutes,
    retrievedOfferCount: newFba + newFbm + usedFba + usedFbm,
    offerCountFBA: newFba + usedFba,
    offerCountFBM: newFbm + usedFbm,
    stockAmazon: stockBy(live.find(({ listing }) => listing.seller === 0)?.listing),
    stockBuyBox: stockBy(history.boxes.at(-1)?.quote?.listing),
  };
}

/** Returns the numbers of live offers: new and sent by the site, new and sent by sellers, and the same for used. */
function offerCounts({ popularity }: ProductSketch, nowMinutes: number): [number, number, number, number] {
  const live = quotesAt(popularity.market, nowMinutes).map(({ listing }) => listing);
  const count = (isUsed: boolean, isSent: boolean) =>
    live.filter(({ condition, isFBA }) => condition > 1 === isUsed && isFBA === isSent).length;
  return [count(false, true), count(false, false), count(true, true), count(true, false)];
}

function ranksByCategory(
  path: readonly CategoryNode[],
  rootRank: readonly number[],
  cut: (series: number[], width: number) => number[],
) {
  return Object.fromEntries(
    path.map(({ catId }, depth) => [
      catId,
      cut(
        rootRank.map((entry, i) => (i % 2 === 0 ? entry : categoryRank(entry, depth))),
        2,
      ),
    ]),
  );
}

/** Caches the variation lists, since every member of a family contains the full list. */
const variationLists = new LRUCache<string, ReturnType<typeof variationOf>[]>({ max: 200 });

function variationsOf({ parent, members }: { parent: string; members: string[] }, domain: number) {
  const key = `${parent}/${domain}`;
  const known = variationLists.get(key);
  if (known) return known;
  const list = members.map((member) => variationOf(member, domain));
  variationLists.set(key, list);
  return list;
}

function variationOf(asin: string, domain: number) {
  const { attributes, imageName } = sketch(asin, domain);
  return { asin, image: imageName, attributes };
}

function monthlySoldHistory(popularity: Popularity, from: number, to: number): number[] {
  let last: number | null = null;
  return [from, ...timesBetween(popularity.counted, from, to)].flatMap((time) => {
    const sold = monthlySoldAt(popularity, time);
    const isNew = sold !== null && sold !== last;
    last = sold;
    return isNew ? [time, sold] : [];
  });
}

function lastDays(series: number[], width: number, { days, nowMinutes }: ProductRequest): number[] {
  if (days === null) return series;
  const from = nowMinutes - days * DAY;
  let keep = 0;
  for (let i = 0; i < series.length; i += width) if ((series[i] ?? 0) <= from) keep = i;
  return series.slice(keep);
}

function cutTexts(series: string[], width: number, request: ProductRequest): string[] {
  const times = series.map((entry, i) => (i % width === 0 ? Number(entry) : 0));
  return series.slice(series.length - lastDays(times, width, request).length);
}
