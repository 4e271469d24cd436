import { LRUCache } from 'lru-cache';
import type { AsinFacts } from './asins.ts';
import { buyBoxStats, usedBuyBoxHistory } from './buy-box.ts';
import { type CategoryNode, leafAt, pathOfLeaf } from './categories.ts';
import { aPlusOf, descriptionOf, saleOf, videosOf } from './details.ts';
import { offersOf } from './offers.ts';
import { fraction, hash } from './random.ts';
import { sellerAt } from './sellers.ts';
import { categoryRank, pointsOf, seriesOf, trackingSince } from './series.ts';
import { sketch } from './sketch.ts';
import { statsOf, WITH_SHIPPING } from './stats.ts';

const DAY = 1440;

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
  const csv = csvOf(facts, request);
  const path = pathOfLeaf(facts.leaf);
  const rootRank = csv[3] ?? [];
  const [root] = path;
  const withStats = request.statsDays === null ? {} : { stats: fullStats(csv, request, facts) };
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
    salesRankReferenceHistory: ifHistory(() => [trackingSince(facts), root?.catId ?? 0]),
    salesRanks: ifHistory(() => ranksByCategory(path, rootRank, cut)),
    images: imagesOf(product.imageName),
    ...saleOf(product, request),
    monthlySold: monthlySold(product.current(3, nowMinutes)),
    monthlySoldHistory: ifHistory(() => cut(monthlySoldHistory(facts, rootRank), 2)),
    buyBoxSellerIdHistory:
      request.history && hasBuyBox ? cutTexts(buyBoxSellers(facts, csv[18]), request) : null,
    buyBoxUsedHistory: request.history && hasBuyBox ? usedBuyBoxHistory(csv[32]) : null,
    buyBoxEligibleOfferCounts: hasBuyBox ? [2, 1, 0, 0, 0, 0, 0, 0] : null,
    trackingSince: trackingSince(facts),
    listedSince: trackingSince(facts) - 20 * DAY,
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

function csvOf(
  facts: AsinFacts,
  { domain, nowMinutes, offers, buybox, rating }: ProductRequest,
): (number[] | null)[] {
  const series = seriesOf(facts, domain);
  return Array.from({ length: 36 }, (_, index) => {
    const found = series.get(index);
    const onDemand =
      (BUY_BOX_SERIES.has(index) && !buybox && offers === 0) ||
      (OFFER_SERIES.has(index) && offers === 0) ||
      (RATING_SERIES.has(index) && !rating);
    return found && !onDemand ? pointsOf(found, facts, index, nowMinutes) : null;
  });
}

function fullStats(csv: (number[] | null)[], request: ProductRequest, facts: AsinFacts) {
  const { nowMinutes, statsDays, offers } = request;
  return {
    ...statsOf(csv, nowMinutes, statsDays ?? 90),
    ...buyBoxStats(facts, csv, request),
    ...(offers > 0 ? { lastOffersUpdate: nowMinutes } : {}),
  };
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

/** Returns "bought in the past month", which has bands and exists only for products that sell. */
export function monthlySold(rank: number): number | null {
  if (rank < 0 || rank > 100_000) return null;
  const estimate = 200_000 / rank ** 0.8;
  const band = 10 ** Math.max(1, Math.floor(Math.log10(estimate)));
  return Math.max(50, Math.floor(estimate / band) * band);
}

function monthlySoldHistory(facts: AsinFacts, rootRank: readonly number[]): number[] {
  const points: number[] = [];
  let last: number | null = null;
  for (let i = 0; i < rootRank.length; i += 60) {
    const sold = monthlySold(rootRank[i + 1] ?? -1);
    if (sold !== null && sold !== last) points.push(rootRank[i] ?? trackingSince(facts), sold);
    last = sold;
  }
  return points;
}

/** The entries are texts, as upstream's are. */
function buyBoxSellers(facts: AsinFacts, buyBox: readonly number[] | null | undefined): string[] {
  const winners: string[] = [];
  for (let i = 0; i < (buyBox?.length ?? 0); i += 12) {
    const time = buyBox?.[i] ?? 0;
    const winner = fraction('winner', facts.asin, i) < 0.7 ? facts.seller : 0;
    winners.push(String(time), sellerAt(winner).sellerId);
  }
  return winners;
}

function lastDays(series: number[], width: number, { days, nowMinutes }: ProductRequest): number[] {
  if (days === null) return series;
  const from = nowMinutes - days * DAY;
  let keep = 0;
  for (let i = 0; i < series.length; i += width) if ((series[i] ?? 0) <= from) keep = i;
  return series.slice(keep);
}

function cutTexts(series: string[], request: ProductRequest): string[] {
  const numbers = series.map((entry, i) => (i % 2 === 0 ? Number(entry) : i));
  const kept = lastDays(numbers, 2, request);
  return series.slice(series.length - kept.length);
}
