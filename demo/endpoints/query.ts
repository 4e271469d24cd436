import { LEAF_COUNT } from '../catalog/categories.ts';
import { modelOf } from '../catalog/details.ts';
import { monthlySoldAt } from '../catalog/popularity.ts';
import { sellerAt } from '../catalog/sellers.ts';
import { listedProducts, type ProductSketch } from '../catalog/sketch.ts';
import { domainOf, type Endpoint, invalidParameter, isOn, outOfRange, selectionOf } from '../protocol.ts';

const ASINS_A_LEAF = 40;

/** Series indices by the finder's names. */
const SERIES: Record<string, number> = {
  AMAZON: 0,
  NEW: 1,
  USED: 2,
  SALES: 3,
  LISTPRICE: 4,
  NEW_FBM_SHIPPING: 7,
  NEW_FBA: 10,
  COUNT_NEW: 11,
  COUNT_USED: 12,
  RATING: 16,
  COUNT_REVIEWS: 17,
  BUY_BOX_SHIPPING: 18,
};

const SETTINGS = new Set(['page', 'perPage', 'sort']);

export const query: Endpoint = (request) => {
  const { params, nowMinutes } = request;
  const domain = domainOf(params);
  const selection = selectionOf(request);
  if ('domain' in selection || 'stats' in selection) throw invalidParameter();
  const { page = 0, perPage = 50, sort = [] } = selection;
  if (!isWhole(page) || !isWhole(perPage) || !isSort(sort)) throw invalidParameter();
  if (page < 0 || perPage < 50 || perPage > 10_000 || (page > 0 && (page + 1) * perPage > 10_000))
    throw outOfRange();
  const filters = Object.entries(selection).filter(
    ([field, value]) => !SETTINGS.has(field) && value !== null,
  );
  if (filters.length === 0) throw invalidParameter();

  const matches = listedProducts(domain, LEAF_COUNT * ASINS_A_LEAF).filter((product) =>
    filters.every(([field, value]) => passes(product, field, value, nowMinutes)),
  );
  const sorted = matches.sort(orderOf(sort, nowMinutes));
  const asinList = sorted.slice(page * perPage, (page + 1) * perPage).map(({ asin }) => asin);
  const withStats = isOn(params.stats);
  return {
    payload: {
      asinList,
      totalResults: matches.length,
      ...(withStats ? { searchInsights: insights(matches, nowMinutes) } : {}),
    },
    tokens: 10 + Math.ceil(asinList.length / 100) + (withStats ? 30 : 0),
  };
};

function isWhole(value: unknown): value is number {
  return Number.isInteger(value);
}

function isSort(value: unknown): value is [string, string][] {
  return (
    Array.isArray(value) &&
    value.length <= 3 &&
    value.every(
      (key: unknown) =>
        Array.isArray(key) && typeof key[0] === 'string' && (key[1] === 'asc' || key[1] === 'desc'),
    )
  );
}

/** Returns whether a product matches a filter. Unknown filters match all products. */
function passes(product: ProductSketch, field: string, wanted: unknown, now: number): boolean {
  const bound = /^(.*)_(gte|lte)$/.exec(field);
  if (bound) {
    const value = fieldValue(product, bound[1] ?? '', now);
    if (typeof value !== 'number') return true;
    // -1 means no data, except for differences, which may be negative.
    if (value === -1 && !bound[1]?.startsWith('delta')) return false;
    return bound[2] === 'gte' ? value >= Number(wanted) : value <= Number(wanted);
  }
  const list = [wanted].flat();
  switch (field) {
    case 'rootCategory':
      return list.some((id) => Number(id) === product.categoryIds[0]);
    case 'categories_include':
      return list.some((id) => product.categoryIds.includes(Number(id)));
    case 'categories_exclude':
      return !list.some((id) => product.categoryIds.includes(Number(id)));
    case 'brand':
    case 'manufacturer':
      return list.some((name) => String(name).toLowerCase() === product.brand.toLowerCase());
    case 'title':
      return String(wanted)
        .toLowerCase()
        .split(/\s+/)
        .every((word) => product.title.toLowerCase().includes(word));
    case 'productType':
      return list.some((type) => Number(type) === 0);
    case 'hasReviews':
      return wanted === true;
    case 'singleVariation':
      return wanted !== true || (product.facts.family?.members[0] ?? product.asin) === product.asin;
    case 'sellerIds':
    case 'buyBoxSellerId':
      return list.includes(sellerAt(product.facts.seller).sellerId);
    case 'model':
    case 'mpn':
    case 'partNumber':
      return list.some((name) => String(name).toLowerCase() === modelOf(product)?.toLowerCase());
    case 'department':
      // No product of the demo has a department.
      return false;
    default: {
      const [, extreme, name = ''] = /^is(Lowest|Highest)_(.+)$/.exec(field) ?? [];
      const index = SERIES[name];
      if (index === undefined) return true;
      return (extreme === 'Lowest' ? product.isLowest(index, now) : product.isHighest(index, now)) === wanted;
    }
  }
}

/** Returns the value of a field to sort or filter by, or undefined for an unknown field. */
function fieldValue(product: ProductSketch, field: string, now: number): number | string | undefined {
  const metric = /^(current|avg\d+|delta\d+|deltaPercent\d+)_(.+)$/.exec(field);
  if (metric) {
    const [, kind = '', name = ''] = metric;
    const index = SERIES[name];
    if (index === undefined) return undefined;
    const current = product.current(index, now);
    if (kind === 'current') return current;
    const mean = product.average(index, Number(/\d+/.exec(kind)?.[0] ?? 30), now);
    if (kind.startsWith('avg')) return mean;
    // Without data the difference is undefined and matches no filter.
    if (current < 0 || mean < 0) return Number.NaN;
    return kind.startsWith('deltaPercent')
      ? Math.round((100 * (mean - current)) / Math.max(1, mean))
      : mean - current;
  }
  // No product has a coupon for subscriptions or a dangerous material.
  if (field === 'couponSNSAbsolute' || field === 'hazardousMaterialType') return -1;
  if (field === 'monthlySold') return monthlySoldAt(product.popularity, now) ?? -1;
  const drops = /^salesRankDrops(\d+)$/.exec(field);
  if (drops) return product.rankDrops(Number(drops[1]), now);
  if (field === 'title') return product.title;
  return field === 'brand' ? product.brand : undefined;
}

function orderOf(
  sort: readonly [string, string][],
  now: number,
): (a: ProductSketch, b: ProductSketch) => number {
  const keys = sort.length > 0 ? sort : [['current_SALES', 'asc'] as const];
  const cached = new Map<string, (number | string)[]>();
  const valuesOf = (product: ProductSketch) => {
    const known = cached.get(product.asin) ?? keys.map(([field]) => fieldValue(product, field, now) || 0);
    cached.set(product.asin, known);
    return known;
  };
  return (a, b) => {
    for (const [i, [, direction]] of keys.entries()) {
      const [x = 0, y = 0] = [valuesOf(a)[i], valuesOf(b)[i]];
      if (x !== y) return (x < y ? -1 : 1) * (direction === 'desc' ? -1 : 1);
    }
    return a.asin < b.asin ? -1 : 1;
  };
}

function insights(products: readonly ProductSketch[], now: number): Record<string, unknown> {
  const mean = (index: number) => {
    const values = products.map((product) => product.current(index, now)).filter((value) => value >= 0);
    return values.length === 0
      ? -1
      : Math.round(values.reduce((sum, value) => sum + value, 0) / values.length);
  };
  const ranks = products.map((product) => product.current(3, now));
  const counts = new Map<string, number>();
  for (const { brand } of products) counts.set(brand, (counts.get(brand) ?? 0) + 1);
  const share = (holds: (product: ProductSketch) => boolean) =>
    products.length === 0 ? 0 : Math.round((1000 * products.filter(holds).length) / products.length) / 10;
  const sellers = new Map<string, number>();
  for (const { facts } of products) {
    const { sellerId } = sellerAt(facts.seller);
    sellers.set(sellerId, (sellers.get(sellerId) ?? 0) + 1);
  }
  return {
    avgBuyBox: mean(18),
    avgBuyBox90: mean(18),
    avgBuyBox365: mean(18),
    avgBuyBoxDeviation: Math.round(mean(18) / 12),
    avgDeltaPercent30BuyBox: 0.4,
    avgDeltaPercent90BuyBox: 0.9,
    avgDeltaPercent30Amazon: 0.3,
    avgDeltaPercent90Amazon: 0.8,
    isFBAPercent: 50,
    soldByAmazonPercent: share((product) => product.current(0, now) > 0),
    hasCouponPercent: 0,
    avgReviewCount: mean(17),
    avgRating: mean(16),
    avgOfferCountNew: mean(11),
    avgOfferCountUsed: mean(12),
    sellerCount: sellers.size,
    brandCount: counts.size,
    highestRank: ranks.reduce((a, b) => Math.max(a, b), 0),
    lowestRank: ranks.reduce((a, b) => Math.min(a, b), Number.MAX_SAFE_INTEGER),
    relatedCategories: [...new Set(products.flatMap(({ categoryIds }) => categoryIds.slice(0, 1)))].slice(
      0,
      5,
    ),
    topBrandsWithCounts: mostFrequent(counts),
    topSellersWithCounts: mostFrequent(sellers),
  };
}

function mostFrequent(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1]).slice(0, 5));
}
