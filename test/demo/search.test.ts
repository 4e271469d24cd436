import { expect } from 'vitest';
import { allLeaves, leafAt } from '../../demo/catalog/categories.ts';
import { hasDrawing, readPictureName } from '../../demo/pictures/drawing.ts';
import { termAt } from '../../demo/reports/vocabulary.ts';
import { leafAbout } from '../../demo/trends/interest.ts';
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

test.for([
  ['kettle', 'Electric Kettle', 'kettle'],
  ['headphones', 'Headphones', 'headphones'],
  ['earbuds', 'Headphones', 'headphones'],
  ['movies', 'Movies', 'disc'],
  ['running shoes', 'Running Shoes', 'shoe'],
])('"%s" finds products of category %s, with a picture of one', async ([term, name, drawing], { demo }) => {
  const { products } = await search(demo, { term: term ?? '', page: 0, history: 0 });
  expect(products).toHaveLength(10);
  for (const { categoryTree, images } of products) {
    expect(categoryTree.map((node: { name: string }) => node.name)).toContain(name);
    const picture = await demo.raw(`/images/I/${images[0].l}`);
    expect([picture.status, picture.headers['content-type']]).toEqual([200, 'image/svg+xml']);
    const shown = readPictureName(images[0].l);
    expect(leafAt(shown?.leaf ?? -1).picture).toBe(drawing);
  }
});

test.for(['kettle', 'headphones', 'movie', 'shoe'])(
  '"%s" is in a category, a search term and a trend that agree',
  async (word, { demo }) => {
    const { categories } = (await demo.get('search', { domain: 1, type: 'category', term: word })).json;
    const names = Object.values<{ name: string }>(categories).map(({ name }) => name.toLowerCase());
    expect(names.some((name) => name.includes(word))).toBe(true);
    const terms = Array.from({ length: 400 }, (_, n) => termAt('us', n)).filter(({ term }) =>
      term.includes(word),
    );
    expect(terms.length).toBeGreaterThan(0);
    for (const { term, leaf } of terms) expect(leafAbout(term)).toBe(leafAt(leaf));
  },
);

test('every category has a drawing, and other names have no picture', async ({ demo }) => {
  expect(allLeaves().filter(({ picture }) => !hasDrawing(picture))).toEqual([]);
  for (const name of ['51abcDEFgh1L.jpg', '4ZZ0AAABBL.svg', '..%2Fx'])
    expect((await demo.raw(`/images/I/${name}`)).status).toBe(404);
});
