import { expect } from 'vitest';
import { z } from 'zod';
import type { Demo } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';

const whole = z.int();
const four = z.array(whole).length(4);
const seller = z.looseObject({
  sellerId: z.string().regex(/^[A-Z0-9]{10,20}$/),
  sellerName: z.string().min(1),
  domainId: z.literal(1),
  trackedSince: whole,
  lastUpdate: whole,
  lastRatingUpdate: whole,
  csv: z.tuple([z.array(whole), z.array(whole)]),
  currentRating: z.int().min(0).max(100),
  currentRatingCount: whole,
  ratingCount: four,
  positiveRating: four,
  neutralRating: four,
  negativeRating: four,
  hasFBA: z.boolean(),
  shipsFromChina: z.boolean(),
  totalStorefrontAsins: z.tuple([whole, whole]),
});

const topSellers = async (demo: Demo): Promise<string[]> =>
  (await demo.get('topseller', { domain: 1 })).json.sellerIdList;
const sellers = async (demo: Demo, ids: readonly string[], params: Record<string, number> = {}) =>
  (await demo.get('seller', { domain: 1, seller: ids.join(), ...params })).json.sellers;

test('lists existing top sellers, sorted by number of ratings', async ({ demo }) => {
  const ids = await topSellers(demo);
  expect(ids.length).toBeGreaterThan(1000);
  expect(new Set(ids).size).toBe(ids.length);
  const counts: number[] = [];
  for (let at = 0; at < ids.length; at += 100) {
    const batch = ids.slice(at, at + 100);
    const found = await sellers(demo, batch);
    expect(Object.keys(found).sort()).toEqual([...batch].sort());
    for (const id of batch) {
      const record = seller.parse(found[id]);
      expect(record.sellerId).toBe(id);
      expect(record.ratingCount[3]).toBe(record.currentRatingCount);
      counts.push(record.currentRatingCount);
    }
  }
  expect(counts).toEqual([...counts].sort((a, b) => b - a));
});

test('each site has its own top sellers', async ({ demo }) => {
  const lists = [1, 2, 3].map(async (domain) => (await demo.get('topseller', { domain })).json.sellerIdList);
  const firsts = (await Promise.all(lists)).map((ids: string[]) => ids.slice(0, 5).join());
  expect(new Set(firsts).size).toBe(3);
});

test('omits unknown sellers, and returns an empty map if none is known', async ({ demo }) => {
  const [known = ''] = await topSellers(demo);
  expect(Object.keys(await sellers(demo, [known, 'A00000000000']))).toEqual([known]);
  expect(await sellers(demo, ['A00000000000'])).toEqual({});
});

test('knows the seller that the documents have as an example', async ({ demo }) => {
  const example = 'A2L77EE7U53NWQ';
  const found = (await sellers(demo, [example], { storefront: 1 }))[example];
  expect(found.asinList.length).toBeGreaterThan(10);
});

test('a seller has its storefront only if it is requested', async ({ demo }) => {
  const [id = ''] = await topSellers(demo);
  expect((await sellers(demo, [id]))[id]).not.toHaveProperty('asinList');
});

test('a storefront lists each ASIN once, newest first, as many as its count', async ({ demo }) => {
  const ids = await topSellers(demo);
  for (const id of [ids[0] ?? '', ids[500] ?? '', ids.at(-1) ?? '']) {
    const { asinList, asinListLastSeen, totalStorefrontAsins } = (
      await sellers(demo, [id], { storefront: 1 })
    )[id];
    expect(asinList).toHaveLength(totalStorefrontAsins[1]);
    expect(new Set(asinList).size).toBe(asinList.length);
    expect(asinListLastSeen).toHaveLength(asinList.length);
    expect(asinListLastSeen).toEqual([...asinListLastSeen].sort((a: number, b: number) => b - a));
  }
});

test('every ASIN of a storefront has a live offer of its seller, and a category of it', async ({ demo }) => {
  const id = (await topSellers(demo))[700] ?? '';
  const record = (await sellers(demo, [id], { storefront: 1 }))[id];
  const asin = record.asinList.slice(0, 60).join();
  const { products } = (await demo.get('product', { domain: 1, asin, offers: 20, history: 0 })).json;
  const roots = record.sellerCategoryStatistics.map(({ catId }: { catId: number }) => catId);
  expect(products).toHaveLength(60);
  for (const { offers, liveOffersOrder, rootCategory } of products) {
    const live = liveOffersOrder.map((index: number) => offers[index].sellerId);
    expect(live).toContain(id);
    expect(roots).toContain(rootCategory);
  }
  const counted = record.sellerCategoryStatistics.reduce(
    (sum: number, { productCount }: { productCount: number }) => sum + productCount,
    0,
  );
  expect(counted).toBe(record.asinList.length);
});
