import { describe, expect } from 'vitest';
import type { Demo } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';
import { words } from '../support/words.ts';

interface Found {
  asin: string;
  title: string;
  brand: string;
  partNumber: string | null;
  rootCategory: number;
  categoryTree: { catId: number }[];
  monthlySold: number | null;
  parentAsin: string | null;
  stats: Record<string, number[] & boolean[]>;
}

async function find(demo: Demo, selection: Record<string, unknown>) {
  const { status, json } = await demo.post('query', { domain: 1 }, selection);
  expect(status).toBe(200);
  return json as { asinList: string[]; totalResults: number };
}

/** Filters that read histories take a while for the products of all categories. */
const ONE_ROOT = { rootCategory: 300_000 };

/** The number of results that are compared with the filter. */
const CHECKED = 40;

async function products(demo: Demo, asins: readonly string[]): Promise<Found[]> {
  const params = { domain: 1, asin: asins.slice(0, 100).join(), stats: 30, rating: 1, buybox: 1 };
  return (await demo.get('product', { ...params, history: 0 })).json.products;
}

const current =
  (index: number) =>
  ({ stats }: Found) =>
    stats.current?.[index] ?? Number.NaN;

describe('applies filters to every product found:', () => {
  const inTree = (id: number) => (found: Found) => found.categoryTree.some(({ catId }) => catId === id);

  test.for<[string, Record<string, unknown>, (found: Found) => boolean]>([
    ['rootCategory', { rootCategory: [300_000] }, ({ rootCategory }) => rootCategory === 300_000],
    [
      'categories_include',
      { categories_include: [302_020, 101_010] },
      (f) => inTree(302_020)(f) || inTree(101_010)(f),
    ],
    [
      'categories_exclude',
      { rootCategory: 300_000, categories_exclude: [302_000] },
      (f) => !inTree(302_000)(f),
    ],
    [
      'several fields',
      { brand: 'Umbra', ...ONE_ROOT, current_NEW_lte: 6000 },
      (f) => f.brand === 'Umbra' && f.rootCategory === 300_000 && current(1)(f) <= 6000,
    ],
    ['brand', { brand: ['aCME', 'Globex'] }, ({ brand }) => ['Acme', 'Globex'].includes(brand)],
    ['title', { title: 'compact tent' }, ({ title }) => /compact.*tent/i.test(title)],
    [
      'current_NEW',
      { current_NEW_gte: 3000, current_NEW_lte: 4000 },
      (f) => within(current(1)(f), 3000, 4000),
    ],
    ['current_AMAZON', { current_AMAZON_lte: 900 }, (f) => within(current(0)(f), 0, 900)],
    ['current_USED', { current_USED_gte: 9000 }, (f) => current(2)(f) >= 9000],
    ['current_BUY_BOX_SHIPPING', { current_BUY_BOX_SHIPPING_gte: 5000 }, (f) => current(18)(f) >= 5000],
    ['current_SALES', { current_SALES_lte: 800 }, (f) => within(current(3)(f), 0, 800)],
    ['avg30_SALES', { ...ONE_ROOT, avg30_SALES_lte: 900 }, (f) => within(f.stats.avg30?.[3] ?? -1, 0, 900)],
    ['current_RATING', { current_RATING_gte: 47 }, (f) => current(16)(f) >= 47],
    ['current_COUNT_REVIEWS', { current_COUNT_REVIEWS_gte: 3000 }, (f) => current(17)(f) >= 3000],
    ['monthlySold', { monthlySold_gte: 500 }, ({ monthlySold }) => (monthlySold ?? 0) >= 500],
    [
      'isLowest_BUY_BOX_SHIPPING',
      { ...ONE_ROOT, isLowest_BUY_BOX_SHIPPING: true },
      ({ stats }) => stats.isLowest?.[18] === true,
    ],
    [
      'isHighest_NEW',
      { ...ONE_ROOT, isHighest_NEW: true },
      ({ stats }) => stats.max?.[1]?.[1] === stats.current?.[1],
    ],
    [
      'deltaPercent30_BUY_BOX_SHIPPING, cheaper',
      { ...ONE_ROOT, deltaPercent30_BUY_BOX_SHIPPING_gte: 15 },
      (f) => dropPercent(f) >= 14.5,
    ],
    [
      'deltaPercent30_BUY_BOX_SHIPPING, dearer',
      { ...ONE_ROOT, deltaPercent30_BUY_BOX_SHIPPING_lte: -10 },
      (f) => dropPercent(f) <= -9.5,
    ],
  ])('%s', async ([_, selection, holds], { demo }) => {
    const { asinList, totalResults } = await find(demo, selection);
    expect(asinList.length).toBeGreaterThan(0);
    expect(totalResults).toBeGreaterThanOrEqual(asinList.length);
    const found = await products(demo, asinList.slice(0, CHECKED));
    expect(found).toHaveLength(Math.min(CHECKED, asinList.length));
    expect(found.filter((product) => !holds(product))).toEqual([]);
  });

  test('returns one product of each family for singleVariation', async ({ demo }) => {
    const { asinList } = await find(demo, { rootCategory: 300_000, singleVariation: true, perPage: 100 });
    const parents = (await products(demo, asinList)).flatMap(({ parentAsin }) => parentAsin ?? []);
    expect(new Set(parents).size).toBe(parents.length);
  });

  test('finds a product by its part number', async ({ demo }) => {
    const [first] = await products(demo, (await find(demo, { title: 'tent' })).asinList);
    const { asinList } = await find(demo, { mpn: [String(first?.partNumber).toLowerCase()] });
    expect(asinList).toContain(first?.asin);
    for (const found of await products(demo, asinList)) expect(found.partNumber).toBe(first?.partNumber);
  });

  test.for([{ department: 'Kitchen' }, { couponSNSAbsolute_gte: 1 }, { hazardousMaterialType_gte: 0 }])(
    'finds nothing for %j, of which no product has data',
    async (filter, { demo }) => {
      expect((await find(demo, { title: 'tent', ...filter })).totalResults).toBe(0);
    },
  );

  test('finds only ordinary products', async ({ demo }) => {
    expect((await find(demo, { productType: [5] })).asinList).toEqual([]);
    expect((await find(demo, { productType: [0, 5] })).asinList).toHaveLength(50);
  });
});

test('sorts by rank, or by up to three given fields', async ({ demo }) => {
  const ranks = (await products(demo, (await find(demo, { title: 'tent' })).asinList)).map(current(3));
  expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
  const sort = [
    ['brand', 'desc'],
    ['current_NEW', 'asc'],
  ];
  const keys = (await products(demo, (await find(demo, { title: 'tent', sort })).asinList)).map(
    (found) => [found.brand, current(1)(found)] as const,
  );
  const sorted = [...keys].sort((a, b) => (a[0] === b[0] ? a[1] - b[1] : a[0] < b[0] ? 1 : -1));
  expect(keys).toEqual(sorted);
});

test('returns pages without gaps, up to the number of results', async ({ demo }) => {
  const selection = { title: 'tent', perPage: 50 };
  const { asinList: first, totalResults } = await find(demo, selection);
  const { asinList: second } = await find(demo, { ...selection, page: 1 });
  const { asinList: all } = await find(demo, { ...selection, perPage: 10_000 });
  expect([...first, ...second]).toEqual(all.slice(0, 100));
  expect(all).toHaveLength(totalResults);
  expect((await find(demo, { ...selection, page: 100 })).asinList).toEqual([]);
});

test('returns the same for GET with a selection and POST with a body', async ({ demo }) => {
  const selection = { brand: ['Acme'], current_SALES_lte: 5000 };
  const { json } = await demo.get('query', { domain: 1, selection: JSON.stringify(selection) });
  expect((await find(demo, selection)).asinList).toEqual(json.asinList);
});

test('computes insights from all products found', async ({ demo }) => {
  const selection = { title: 'tent', brand: ['Ridgeway', 'Pinecrest'] };
  const { json } = await demo.post('query', { domain: 1, stats: 1 }, selection);
  expect(json.searchInsights).toMatchObject({ brandCount: 2, relatedCategories: [500_000] });
  const { topBrandsWithCounts, highestRank, lowestRank } = json.searchInsights;
  const counts = Object.values<number>(topBrandsWithCounts);
  expect(counts.reduce((sum, count) => sum + count)).toBe(json.totalResults);
  expect(lowestRank).toBeLessThan(highestRank);
  for (const name of words(`
    avgBuyBox avgBuyBox90 avgBuyBox365 avgBuyBoxDeviation avgReviewCount avgRating
    avgDeltaPercent30BuyBox avgDeltaPercent90BuyBox avgDeltaPercent30Amazon sellerCount isFBAPercent
    soldByAmazonPercent hasCouponPercent avgOfferCountNew avgOfferCountUsed
  `)) {
    expect(json.searchInsights[name], name).toBeTypeOf('number');
  }
  expect((await find(demo, selection)) as object).not.toHaveProperty('searchInsights');
});

function within(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

function dropPercent(found: Found): number {
  const mean = found.stats.avg30?.[18] ?? Number.NaN;
  return (100 * (mean - current(18)(found))) / mean;
}
