import { asinOfLeaf } from '../catalog/asins.ts';
import { LEAF_COUNT } from '../catalog/categories.ts';
import { monthlySold, type ProductSketch, sketch } from '../catalog/products.ts';
import { sellerAt } from '../catalog/sellers.ts';
import { domainOf, type Endpoint, invalidParameter, isOn, outOfRange, selectionOf } from '../protocol.ts';

const DAY = 1440;
const ASINS_A_LEAF = 100;

/** Metrics and series by the names the finder has for them. */
const SERIES: Record<string, number> = {
  ...{
    AMAZON: 0,
    NEW: 1,
    USED: 2,
    SALES: 3,
    LISTPRICE: 4,
    NEW_FBM_SHIPPING: 7,
    NEW_FBA: 10,
    COUNT_NEW: 11,
    COUNT_USED: 12,
  },
  ...{ RATING: 16, COUNT_REVIEWS: 17, BUY_BOX_SHIPPING: 18 },
};

const SETTINGS = new Set(['page', 'perPage', 'sort', 'productType']);

export const query: Endpoint = (request) => {
  const { params, nowMinutes } = request;
  const domain = domainOf(params);
  const selection = selectionOf(request);
  if ('domain' in selection || 'stats' in selection) throw invalidParameter();
  const page = Number(selection.page ?? 0);
  const perPage = Number(selection.perPage ?? 50);
  if (perPage < 50 || perPage > 10_000 || (page > 0 && (page + 1) * perPage > 10_000)) throw outOfRange();
  const filters = Object.entries(selection).filter(
    ([field, value]) => !SETTINGS.has(field) && value !== null,
  );
  if (filters.length === 0) throw invalidParameter();

  const matches = Array.from({ length: LEAF_COUNT * ASINS_A_LEAF }, (_, i) =>
    asinOfLeaf(i % LEAF_COUNT, Math.floor(i / LEAF_COUNT)),
  )
    .map((asin) => sketch(asin, domain))
    .filter((product) => filters.every(([field, value]) => passes(product, field, value, nowMinutes)));
  const sorted = matches.sort(orderOf(selection.sort, nowMinutes));
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

/** Filters the demo does not know let everything pass. */
function passes(product: ProductSketch, field: string, wanted: unknown, now: number): boolean {
  const bound = /^(.*)_(gte|lte)$/.exec(field);
  if (bound) {
    const value = fieldValue(product, bound[1] ?? '', now);
    if (typeof value !== 'number') return true;
    return value >= 0 && (bound[2] === 'gte' ? value >= Number(wanted) : value <= Number(wanted));
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
    case 'sellerIds':
    case 'buyBoxSellerId':
      return list.includes(sellerAt(product.facts.seller).sellerId);
    default:
      return true;
  }
}

/** The value of a sortable or comparable field, or undefined for one the demo does not know. */
function fieldValue(product: ProductSketch, field: string, now: number): number | string | undefined {
  const metric = /^(current|avg\d+|delta\d+|deltaPercent\d+)_(.+)$/.exec(field);
  if (metric) {
    const [, kind = '', name = ''] = metric;
    const index = SERIES[name];
    if (index === undefined) return undefined;
    const current = product.current(index, now);
    if (kind === 'current') return current;
    const span = Number(/\d+/.exec(kind)?.[0] ?? 30) * DAY;
    const mean = Math.round(
      (current + product.current(index, now - span / 2) + product.current(index, now - span)) / 3,
    );
    if (kind.startsWith('avg')) return mean;
    return kind.startsWith('deltaPercent')
      ? Math.round((100 * (mean - current)) / Math.max(1, mean))
      : mean - current;
  }
  if (field === 'monthlySold') return monthlySold(product.current(3, now)) ?? -1;
  if (field.startsWith('salesRankDrops'))
    return Math.floor(1_000_000 / Math.max(1, product.current(3, now))) % 200;
  if (field === 'title') return product.title;
  return field === 'brand' ? product.brand : undefined;
}

function orderOf(sort: unknown, now: number): (a: ProductSketch, b: ProductSketch) => number {
  const keys =
    Array.isArray(sort) && sort.length > 0
      ? (sort as [string, string][])
      : [['current_SALES', 'asc'] as const];
  const cached = new Map<string, (number | string)[]>();
  const valuesOf = (product: ProductSketch) => {
    const known = cached.get(product.asin) ?? keys.map(([field]) => fieldValue(product, field, now) ?? 0);
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
  return {
    avgBuyBox: mean(18),
    avgBuyBox90: mean(18),
    avgReviewCount: mean(17),
    avgRating: mean(16),
    avgOfferCountNew: mean(11),
    avgOfferCountUsed: mean(12),
    sellerCount: new Set(products.map(({ facts }) => facts.seller)).size,
    brandCount: counts.size,
    highestRank: ranks.reduce((a, b) => Math.max(a, b), 0),
    lowestRank: ranks.reduce((a, b) => Math.min(a, b), Number.MAX_SAFE_INTEGER),
    relatedCategories: [...new Set(products.flatMap(({ categoryIds }) => categoryIds.slice(0, 1)))].slice(
      0,
      5,
    ),
    topBrandsWithCounts: Object.fromEntries([...counts].sort((a, b) => b[1] - a[1]).slice(0, 5)),
  };
}
