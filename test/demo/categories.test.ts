import { describe, expect } from 'vitest';
import type { Demo } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';

interface Category {
  domainId: number;
  catId: number;
  name: string;
  parent: number;
  children: number[];
  [field: string]: unknown;
}

async function categories(demo: Demo, ids: string | number, parents = 0) {
  const { json } = await demo.get('category', { domain: 1, category: ids, parents });
  return json as { categories: Record<string, Category>; categoryParents?: Record<string, Category> };
}

async function products(demo: Demo, asins: readonly string[], params: Record<string, string | number> = {}) {
  return (await demo.get('product', { domain: 1, asin: asins.join(), history: 0, ...params })).json.products;
}

describe('categories', () => {
  test('the id 0 returns all roots, from which every category can be reached by parents and children', async ({
    demo,
  }) => {
    const roots = Object.values((await categories(demo, 0)).categories);
    expect(roots.length).toBeGreaterThan(3);
    expect(roots.every(({ parent }) => parent === 0)).toBe(true);
    let count = 0;
    const visit = async (nodes: Category[]): Promise<void> => {
      for (const { catId, children } of nodes) {
        count += 1;
        if (children.length === 0) continue;
        const below = Object.values((await categories(demo, children.join())).categories);
        expect(new Set(below.map((child) => child.catId))).toEqual(new Set(children));
        expect(below.every(({ parent }) => parent === catId)).toBe(true);
        await visit(below);
      }
    };
    await visit(roots);
    expect(count).toBeGreaterThan(100);
  });

  test('a record has its id and the documented fields', async ({ demo }) => {
    const { categories: found } = await categories(demo, 101_010);
    expect(Object.keys(found)).toEqual(['101010']);
    expect(found['101010']).toMatchObject({
      domainId: 1,
      catId: 101_010,
      name: expect.any(String),
      isBrowseNode: true,
      highestRank: expect.any(Number),
      lowestRank: expect.any(Number),
      productCount: expect.any(Number),
      avgBuyBox: expect.any(Number),
    });
  });

  test('parents=1 adds every ancestor', async ({ demo }) => {
    const { categories: found, categoryParents = {} } = await categories(demo, 101_010, 1);
    const chain: number[] = [];
    for (let at = found['101010']?.parent ?? 0; at !== 0; at = categoryParents[at]?.parent ?? 0)
      chain.push(at);
    expect(chain).toHaveLength(2);
    expect(new Set(Object.keys(categoryParents).map(Number))).toEqual(new Set(chain));
    expect(await categories(demo, 101_010)).not.toHaveProperty('categoryParents');
  });

  test('leaves out an unknown category', async ({ demo }) => {
    expect(Object.keys((await categories(demo, '101010,999')).categories)).toEqual(['101010']);
  });

  test('leaves out an unknown category whose id is beyond 2^53', async ({ demo }) => {
    expect(await categories(demo, '9223372036854775807')).toMatchObject({ categories: {} });
  });

  test('a search finds the categories whose names contain every word', async ({ demo }) => {
    const find = async (term: string) => {
      const { json } = await demo.get('search', { domain: 1, type: 'category', term });
      return Object.values(json.categories as Record<string, Category>).map(({ name }) => name);
    };
    const lights = await find('light');
    expect(lights.length).toBeGreaterThan(2);
    expect(lights.every((name) => name.toLowerCase().includes('light'))).toBe(true);
    expect(await find('LIGHT bike')).toEqual(['Bike Light']);
    expect(await find('light nothing')).toEqual([]);
  });
});

describe('best sellers', () => {
  async function list(demo: Demo, params: Record<string, string | number>) {
    return (await demo.get('bestsellers', { domain: 1, ...params })).json.bestSellersList;
  }

  test.for([
    ['a root', 300_000],
    ['a category in between', 302_000],
    ['a leaf', 302_020],
  ] as const)('the list of %s resolves to products of that category', async ([_, category], { demo }) => {
    const { asinList, categoryId, domainId, lastUpdate } = await list(demo, { category });
    expect([categoryId, domainId]).toEqual([category, 1]);
    expect(lastUpdate).toBeTypeOf('number');
    expect(asinList.length).toBeGreaterThan(300);
    expect(new Set(asinList).size).toBe(asinList.length);
    const picked = [...asinList.slice(0, 40), ...asinList.slice(-40)];
    for (const product of await products(demo, picked)) {
      expect(product.categoryTree.map(({ catId }: Category) => catId)).toContain(category);
    }
  });

  test('are sorted by rank', async ({ demo }) => {
    const { asinList } = await list(demo, { category: 302_020 });
    const ranks = (await products(demo, asinList.slice(0, 100), { stats: 30, history: 0 })).map(
      ({ stats }: { stats: { current: number[] } }) => stats.current[3],
    );
    expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
  });

  test('are sorted by an average rank if one is requested', async ({ demo }) => {
    const [now, before] = await Promise.all([
      list(demo, { category: 302_020, variations: 1 }),
      list(demo, { category: 302_020, variations: 1, range: 90 }),
    ]);
    expect(before.asinList).not.toEqual(now.asinList);
    expect(before.asinList).toHaveLength(now.asinList.length);
    expect(new Set(before.asinList)).toEqual(new Set(now.asinList));
  });

  test('variations=0 returns the best variation of each parent, and variations=1 all', async ({ demo }) => {
    const { asinList: all } = await list(demo, { category: 302_020, variations: 1 });
    const { asinList: best } = await list(demo, { category: 302_020 });
    expect(best.length).toBeLessThan(all.length);
    const family = new Map<string, string>();
    for (let at = 0; at < 400; at += 100) {
      for (const product of await products(demo, all.slice(at, at + 100))) {
        const parent = product.parentAsin ?? product.asin;
        if (!family.has(parent)) family.set(parent, product.asin);
      }
    }
    expect(best.slice(0, family.size)).toEqual([...family.values()]);
  });

  test('accept the name of a product group, whose list has no category', async ({ demo }) => {
    const [{ productGroup }] = await products(demo, ['B0AA11BB22']);
    const { categoryId, asinList } = await list(demo, { category: productGroup });
    expect(categoryId).toBe(0);
    for (const product of await products(demo, asinList.slice(0, 50)))
      expect(product.productGroup).toBe(productGroup);
  });

  test.for(['999', '9223372036854775807'])('omit the list for category %s', async (category, { demo }) => {
    const { status, json } = await demo.get('bestsellers', { domain: 1, category });
    expect(status).toBe(200);
    expect(json).not.toHaveProperty('bestSellersList');
  });

  test('accept all options together with their default values, as clients send them', async ({ demo }) => {
    const options = { category: 302_020, range: 0, variations: 1, sublist: 1 };
    expect((await list(demo, options)).asinList.length).toBeGreaterThan(300);
    expect((await demo.get('bestsellers', { domain: 1, ...options, range: 30 })).status).toBe(400);
  });

  test('do not change for an hour', async ({ demo }) => {
    const first = await list(demo, { category: 302_020 });
    demo.clock.advance(59 * 60_000);
    expect(await list(demo, { category: 302_020 })).toEqual(first);
    demo.clock.advance(60_000);
    expect((await list(demo, { category: 302_020 })).lastUpdate).toBe(first.lastUpdate + 60);
  });
});
