import { expect } from 'vitest';
import type { Demo } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';

const search = async (demo: Demo, params: Record<string, string | number>) =>
  (await demo.get('search', { domain: 1, type: 'product', ...params })).json;

test.for(['yoga mat', 'ACME', 'portable tent', 'blue lipstick'])(
  'every result for "%s" contains every word in its title',
  async (term, { demo }) => {
    const { products } = await search(demo, { term });
    expect(products.length).toBeGreaterThan(0);
    for (const { title } of products) {
      for (const word of term.toLowerCase().split(' ')) expect(title.toLowerCase()).toContain(word);
    }
  },
);

test('returns nothing for words that no title contains', async ({ demo }) => {
  expect((await search(demo, { term: 'yoga unicorn' })).products).toEqual([]);
});

test('returns pages of ten without gaps, up to a short last page', async ({ demo }) => {
  const pages: string[][] = [];
  for (let page = 0; page < 10; page += 1)
    pages.push((await search(demo, { term: 'board game', page, 'asins-only': 1 })).asinList);
  const asins = pages.flat();
  expect(new Set(asins).size).toBe(asins.length);
  expect(pages[0]).toHaveLength(10);
  const end = pages.findIndex((page) => page.length < 10);
  expect(pages.slice(end + 1).flat()).toEqual([]);
  expect((await search(demo, { term: 'board game', 'asins-only': 1 })).asinList).toEqual(asins.slice(0, 40));
});

test('returns the same products as /product, with its options', async ({ demo }) => {
  const options = { stats: 30, rating: 1 };
  const { products } = await search(demo, { term: 'kite', page: 0, ...options });
  const asin = products.map((product: { asin: string }) => product.asin).join();
  expect(products).toEqual((await demo.get('product', { domain: 1, asin, ...options })).json.products);
  const [plain] = (await search(demo, { term: 'kite', page: 0, history: 0, offers: 20 })).products;
  expect(plain.csv).toBeNull();
  expect(plain).not.toHaveProperty('offers');
});
