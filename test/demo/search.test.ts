import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Demo, openDemo } from '../support/demo-provider.ts';

let demo: Demo;
beforeAll(async () => {
  demo = await openDemo();
});
afterAll(() => demo.close());

const search = async (params: Record<string, string | number>) =>
  (await demo.get('search', { domain: 1, type: 'product', ...params })).json;

test.each(['yoga mat', 'ACME', 'portable tent', 'blue lipstick'])(
  'every title found for "%s" holds every word',
  async (term) => {
    const { products } = await search({ term });
    expect(products.length).toBeGreaterThan(0);
    for (const { title } of products) {
      for (const word of term.toLowerCase().split(' ')) expect(title.toLowerCase()).toContain(word);
    }
  },
);

test('what nobody sells is not found', async () => {
  expect((await search({ term: 'yoga unicorn' })).products).toEqual([]);
});

test('pages are of ten, follow one another and end with a short one', async () => {
  const pages: string[][] = [];
  for (let page = 0; page < 10; page += 1)
    pages.push((await search({ term: 'board game', page, 'asins-only': 1 })).asinList);
  const asins = pages.flat();
  expect(new Set(asins).size).toBe(asins.length);
  expect(pages[0]).toHaveLength(10);
  const end = pages.findIndex((page) => page.length < 10);
  expect(pages.slice(end + 1).flat()).toEqual([]);
  expect((await search({ term: 'board game', 'asins-only': 1 })).asinList).toEqual(asins.slice(0, 40));
});

test('the products found are those that /product gives, with its options', async () => {
  const options = { stats: 30, rating: 1 };
  const { products } = await search({ term: 'kite', page: 0, ...options });
  const asin = products.map((product: { asin: string }) => product.asin).join();
  expect(products).toEqual((await demo.get('product', { domain: 1, asin, ...options })).json.products);
  const [plain] = (await search({ term: 'kite', page: 0, history: 0, offers: 20 })).products;
  expect(plain.csv).toBeNull();
  expect(plain).not.toHaveProperty('offers');
});
