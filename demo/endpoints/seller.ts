import { asinOfSeller, factsOf } from '../catalog/asins.ts';
import { pathOfLeaf } from '../catalog/categories.ts';
import { hash } from '../catalog/random.ts';
import { type DemoSeller, SELLER_COUNT, sellerAt, sellerById, sellersByRatings } from '../catalog/sellers.ts';
import { labelOf } from '../catalog/sketch.ts';
import { DAY } from '../minutes.ts';
import { domainOf, type Endpoint, invalidParameter, isOn, outOfRange, required } from '../protocol.ts';
import { all } from '../words.ts';

export const seller: Endpoint = ({ params, nowMinutes }) => {
  const domain = domainOf(params);
  const ids = [...new Set(required(params.seller).split(','))];
  const storefront = isOn(params.storefront);
  if (ids.length > 100 || ids.some((id) => !/^[A-Z0-9]{10,20}$/.test(id)) || (storefront && ids.length > 1)) {
    throw invalidParameter();
  }
  const found = ids.flatMap((id) => sellerById(id, domain) ?? []);
  const sellers = Object.fromEntries(
    found.map((record) => [record.sellerId, sellerRecord(record, domain, nowMinutes, storefront)]),
  );
  return { payload: { sellers }, tokens: found.length * (storefront ? 10 : 1) };
};

export const topseller: Endpoint = ({ params }) => {
  const domain = domainOf(params);
  if (domain === 12) throw outOfRange();
  return { payload: { sellerIdList: sellersByRatings(domain).map(({ sellerId }) => sellerId) }, tokens: 50 };
};

function sellerRecord(
  found: DemoSeller,
  domain: number,
  nowMinutes: number,
  storefront: boolean,
): Record<string, unknown> {
  const { index, sellerId, sellerName, productCount, ratingCount, ratingPercent } = found;
  const months = Array.from({ length: 24 }, (_, i) => nowMinutes - (nowMinutes % DAY) - (23 - i) * 30 * DAY);
  const share = (part: number) => Math.round(ratingCount * part);
  return {
    domainId: domain,
    sellerId,
    sellerName,
    trackedSince: 4_000_000 + (hash('since', index) % 2_000_000),
    lastUpdate: nowMinutes - (hash('updated', index) % DAY),
    lastRatingUpdate: nowMinutes - DAY,
    hasFBA: hash('fba', index) % 3 > 0,
    shipsFromChina: hash('china', index) % 4 === 0,
    currentRating: ratingPercent,
    currentRatingCount: ratingCount,
    ratingsLast30Days: share(0.02),
    ratingCount: [share(0.02), share(0.06), share(0.25), ratingCount],
    positiveRating: Array<number>(4).fill(ratingPercent),
    neutralRating: Array<number>(4).fill(Math.floor((100 - ratingPercent) / 2)),
    negativeRating: Array<number>(4).fill(Math.ceil((100 - ratingPercent) / 2)),
    csv: [
      months.flatMap((time) => [time, ratingPercent - (hash('percent', index, time) % 3)]),
      months.flatMap((time, i) => [time, share((i + 1) / 24)]),
    ],
    isScammer: false,
    avgBuyBoxCompetitors: 2.4,
    buyBoxNewOwnershipRate: 61,
    buyBoxUsedOwnershipRate: 12,
    competitors: [1, 2, 3].map((i) => ({
      sellerId: sellerAt((index + 37 * i) % SELLER_COUNT).sellerId,
      percent: Math.round(30 / i),
    })),
    recentFeedback: [{ date: nowMinutes - DAY, rating: 50, feedback: 'Arrived on time.', isStriked: false }],
    ...all('sellers have no', null),
    totalStorefrontAsins: [nowMinutes - (nowMinutes % DAY), productCount],
    ...(storefront ? storefrontOf(found, nowMinutes) : {}),
  };
}

/** Returns the storefront's ASINs, latest first, and its categories. Each ASIN encodes this seller. */
function storefrontOf({ index, productCount }: DemoSeller, nowMinutes: number): Record<string, unknown> {
  const asinList = [...new Set(Array.from({ length: productCount }, (_, n) => asinOfSeller(index, n)))];
  const counts = new Map<number, number>();
  for (const asin of asinList) {
    const root = pathOfLeaf(factsOf(asin).leaf)[0]?.catId ?? 0;
    counts.set(root, (counts.get(root) ?? 0) + 1);
  }
  return {
    asinList,
    asinListLastSeen: asinList.map((_, i) => nowMinutes - Math.floor((i * 7 * DAY) / asinList.length)),
    sellerCategoryStatistics: [...counts]
      .sort((a, b) => b[1] - a[1])
      .map(([catId, count]) => ({
        catId,
        productCount: count,
        avg30SalesRank: 1000 + (hash(catId, index) % 90_000),
        productCountWithAmazonOffer: Math.floor(count / 3),
      })),
    sellerBrandStatistics: brandsOf(asinList).map((brand) => ({
      brand,
      productCount: Math.ceil(asinList.length / 12),
      avg30SalesRank: 5000,
      productCountWithAmazonOffer: 0,
    })),
  };
}

function brandsOf(asins: readonly string[]): string[] {
  return [...new Set(asins.slice(0, 10).map((asin) => labelOf(factsOf(asin)).brand.toLowerCase()))].slice(
    0,
    3,
  );
}
