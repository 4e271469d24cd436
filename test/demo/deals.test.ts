import { describe, expect } from 'vitest';
import type { Demo } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';

interface Deal {
  asin: string;
  title: string;
  rootCat: number;
  categories: number[];
  image: number[];
  current: number[];
  currentSince: number[];
  deltaLast: number[];
  delta: number[][];
  deltaPercent: number[][];
  avg: number[][];
}

async function ask(demo: Demo, selection: Record<string, unknown>) {
  const { status, json } = await demo.post('deal', {}, { domainId: 1, priceTypes: [1], ...selection });
  expect(status).toBe(200);
  return json.deals as {
    dr: Deal[];
    drDateIndex: unknown[];
    categoryIds: number[];
    categoryNames: string[];
    categoryCount: number[];
  };
}

const at = (row: readonly number[] | undefined, index: number): number => row?.[index] ?? Number.NaN;

test('returns deals with rows of 36 for four date ranges that agree with the product', async ({ demo }) => {
  const { dr, drDateIndex } = await ask(demo, { page: 0 });
  expect(drDateIndex).toEqual([]);
  for (const deal of dr) {
    for (const row of [deal.current, deal.currentSince, deal.deltaLast]) expect(row).toHaveLength(36);
    for (const rows of [deal.delta, deal.deltaPercent, deal.avg])
      expect(rows.map((row) => row.length)).toEqual([36, 36, 36, 36]);
    expect(at(deal.delta[1], 1)).toBe(at(deal.avg[1], 1) - at(deal.current, 1));
  }
  const some = dr.slice(0, 50);
  const asin = some.map((deal) => deal.asin).join();
  const { products } = (await demo.get('product', { domain: 1, asin, stats: 30, history: 0 })).json;
  for (const [i, product] of products.entries()) {
    expect(some[i]).toMatchObject({
      title: product.title,
      rootCat: product.rootCategory,
      categories: product.categories,
    });
    expect(String.fromCharCode(...(some[i]?.image ?? []))).toBe(product.images[0].l);
    expect(some[i]?.current.slice(0, 5)).toEqual(product.stats.current.slice(0, 5));
  }
});

test('returns the same for GET with a selection and POST with a body', async ({ demo }) => {
  const selection = { domainId: 1, priceTypes: [0], sortType: 2, dateRange: 2 };
  const got = await demo.get('deal', { selection: JSON.stringify(selection) });
  expect((await demo.post('deal', {}, selection)).json.deals).toEqual(got.json.deals);
});

test.for([
  ['no price type', { domainId: 1 }, {}],
  ['a price type that is not in a list', { domainId: 1, priceTypes: 0 }, {}],
  ['the site in the address', {}, { domain: 1 }],
] as const)('accepts %s', async ([_, selection, params], { demo }) => {
  const usual = await demo.post('deal', {}, { domainId: 1, priceTypes: [0] });
  const got = await demo.get('deal', { ...params, selection: JSON.stringify(selection) });
  expect(got.json.deals).toEqual(usual.json.deals);
});

test('returns pages of 150 without gaps, up to the last deal', async ({ demo }) => {
  const seen = new Set<string>();
  for (let page = 0; ; page += 1) {
    const { dr } = await ask(demo, { page, isRangeEnabled: true, deltaPercentRange: [15, -1] });
    for (const { asin } of dr) {
      expect(seen.has(asin)).toBe(false);
      seen.add(asin);
    }
    if (dr.length < 150) break;
  }
  expect(seen.size).toBeGreaterThan(150);
});

test.for([
  ['the largest drop', 2, (deal: Deal) => -at(deal.delta[1], 1)],
  ['the smallest drop', -2, (deal: Deal) => at(deal.delta[1], 1)],
  ['the best rank', 3, (deal: Deal) => at(deal.current, 3)],
  ['the largest percentage', 4, (deal: Deal) => -at(deal.deltaPercent[1], 1)],
] as const)('sorts by %s', async ([_, sortType, key], { demo }) => {
  const keys = (await ask(demo, { sortType })).dr.map(key);
  expect(keys).toEqual([...keys].sort((a, b) => a - b));
});

describe('applies ranges when they are enabled:', () => {
  const RANGES: [name: string, range: [number, number], value: (deal: Deal) => number][] = [
    ['currentRange', [2000, 5000], (deal) => at(deal.current, 1)],
    ['deltaRange', [300, 900], (deal) => at(deal.delta[1], 1)],
    ['deltaPercentRange', [15, 25], (deal) => at(deal.deltaPercent[1], 1)],
    ['deltaLastRange', [100, 2000], (deal) => at(deal.deltaLast, 1)],
    ['salesRankRange', [1, 20_000], (deal) => at(deal.current, 3)],
  ];
  const within = ([, [min, max], value]: (typeof RANGES)[number], { dr }: { dr: Deal[] }) =>
    dr.filter((deal) => value(deal) >= min && value(deal) <= max).length;

  test.for(RANGES)('%s', async (row, { demo }) => {
    const [name, range] = row;
    const { dr } = await ask(demo, { isRangeEnabled: true, [name]: range });
    expect(dr.length).toBeGreaterThan(0);
    expect(within(row, { dr })).toBe(dr.length);
  });

  test('and none of them otherwise', async ({ demo }) => {
    const off = await ask(demo, Object.fromEntries(RANGES));
    for (const row of RANGES) expect(within(row, off)).toBeLessThan(off.dr.length);
  });

  test('-1 is an open upper end of a range', async ({ demo }) => {
    const { dr } = await ask(demo, { isRangeEnabled: true, currentRange: [20_000, -1] });
    expect(dr.length).toBeGreaterThan(0);
    expect(dr.every(({ current }) => at(current, 1) >= 20_000)).toBe(true);
  });
});

describe('applies filters:', () => {
  const products = async (demo: Demo, { dr }: { dr: Deal[] }) => {
    const asin = dr
      .slice(0, 40)
      .map((deal) => deal.asin)
      .join();
    return (await demo.get('product', { domain: 1, asin, stats: 90, rating: 1 })).json.products;
  };

  test('titleSearch', async ({ demo }) => {
    const { dr } = await ask(demo, { titleSearch: 'acme marble' });
    expect(dr.length).toBeGreaterThan(0);
    for (const { title } of dr) expect(title.toLowerCase()).toMatch(/(?=.*acme)(?=.*marble)/);
  });

  test('minRating', async ({ demo }) => {
    const found = await products(demo, await ask(demo, { isFilterEnabled: true, minRating: 45 }));
    expect(found.length).toBeGreaterThan(0);
    for (const { stats } of found) expect(stats.current[16]).toBeGreaterThanOrEqual(45);
  });

  test('isLowest', async ({ demo }) => {
    const found = await products(demo, await ask(demo, { isFilterEnabled: true, isLowest: true }));
    expect(found.length).toBeGreaterThan(0);
    for (const { stats } of found) expect(stats.isLowest[1]).toBe(true);
  });

  test('isLowestOffer', async ({ demo }) => {
    const { dr } = await ask(demo, { priceTypes: [0], isFilterEnabled: true, isLowestOffer: true });
    expect(dr.length).toBeGreaterThan(0);
    for (const { current } of dr) expect(at(current, 0)).toBeLessThanOrEqual(at(current, 1));
  });

  test('singleVariation', async ({ demo }) => {
    const parents = async (selection: Record<string, unknown>) => {
      const asins = (await ask(demo, selection)).dr.map(({ asin }) => asin);
      const found = [];
      for (const part of [asins.slice(0, 100), asins.slice(100)].filter(({ length }) => length > 0))
        found.push(
          ...(await demo.get('product', { domain: 1, asin: part.join(), history: 0 })).json.products,
        );
      return found.flatMap(({ parentAsin }) => parentAsin ?? []);
    };
    const narrow = { includeCategories: [300_000] };
    const all = await parents(narrow);
    const single = await parents({ ...narrow, isFilterEnabled: true, singleVariation: true });
    expect(new Set(all).size).toBeLessThan(all.length);
    expect(new Set(single).size).toBe(single.length);
  });

  test('includeCategories and excludeCategories, while the category counts ignore them', async ({ demo }) => {
    const all = await ask(demo, {});
    const included = await ask(demo, { includeCategories: [300_000, 500_000] });
    expect(included.dr.length).toBeGreaterThan(0);
    expect(new Set(included.dr.map(({ rootCat }) => rootCat))).toEqual(new Set([300_000, 500_000]));
    const excluded = await ask(demo, { excludeCategories: [300_000] });
    expect(excluded.dr.map(({ rootCat }) => rootCat)).not.toContain(300_000);
    const counts = ({ categoryCount }: { categoryCount: number[] }) => categoryCount;
    expect(counts(included)).toEqual(counts(all));
    expect(all.categoryIds).toHaveLength(all.categoryCount.length);
    expect(all.categoryNames).toHaveLength(all.categoryCount.length);
  });
});

test('returns the id of the blank category, beyond 2^53, with all digits', async ({ demo }) => {
  const { bytes } = await demo.post('deal', {}, { domainId: 1, priceTypes: [0] });
  expect(bytes.toString()).toMatch(/"categoryIds":\[[\d,]*\b9223372036854775807\]/);
});
