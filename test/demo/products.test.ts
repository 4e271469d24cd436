import fc from 'fast-check';
import { expect } from 'vitest';
import { z } from 'zod';
import { DAY } from '../../demo/minutes.ts';
import type { Demo } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';
import { words } from '../support/words.ts';

/** csv series of three numbers a point. */
const TRIPLES = new Set([7, 18, 32]);
const NOW = Date.parse('2026-03-04T10:00:00Z') / 60_000 - 21_564_000;

const whole = z.int();
const text = z.string();
const series = z.array(whole);
const variation = z.strictObject({
  asin: text,
  image: text,
  attributes: z.array(z.strictObject({ dimension: text, value: text })).min(1),
});
const product = z.looseObject({
  asin: z.string().regex(/^[A-Z0-9]{10}$/),
  domainId: whole,
  productType: z.literal([0, 5]),
  title: text,
  brand: text,
  parentAsin: text.nullable(),
  variations: z.array(variation).min(1).nullable(),
  rootCategory: whole,
  categories: z.array(whole),
  categoryTree: z.array(z.strictObject({ catId: whole, name: text })),
  salesRankReference: whole,
  salesRanks: z.record(z.string().regex(/^\d+$/), series),
  images: z.array(
    z.strictObject({ l: text, lH: whole, lW: whole, m: text.optional(), mH: whole, mW: whole }),
  ),
  eanList: z.array(z.string().regex(/^\d{13}$/)).nullable(),
  packageHeight: whole,
  packageWeight: whole,
  availabilityAmazon: z.literal([-1, 0, 1, 2, 3, 4]),
  monthlySold: whole.nullable(),
  monthlySoldHistory: series.nullable(),
  trackingSince: whole,
  listedSince: whole,
  lastUpdate: whole,
  csv: z.array(series.nullable()).length(36),
});

async function products(demo: Demo, asins: string[], params: Record<string, string | number> = {}) {
  const { status, json } = await demo.get('product', { domain: 1, asin: asins.join(), ...params });
  expect(status).toBe(200);
  return json.products;
}

const anyAsin = fc
  .string({
    unit: fc.constantFrom(...Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')),
    minLength: 10,
    maxLength: 10,
  })
  .filter((asin) => !/^Z[XZ]|^BP/.test(asin));

test('returns the same product of the documented shape for any ASIN', async ({ demo }) => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(anyAsin, { minLength: 1, maxLength: 5 }), async (asins) => {
      const first = await products(demo, asins);
      expect(first.map(({ asin }: { asin: string }) => asin)).toEqual(asins);
      for (const found of first) product.parse(found);
      expect(await products(demo, asins)).toEqual(first);
    }),
    { numRuns: 30 },
  );
});

test('histories start with the tracking, have increasing times and changing values, and end before now', async ({
  demo,
}) => {
  const [found] = await products(demo, ['B0AA11BB22'], { rating: 1, offers: 20 });
  const drawn = [0, 1, 2, 3, 4, 7, 10, 11, 12, 16, 17, 18, 32, 34, 35];
  for (const index of drawn) {
    const width = TRIPLES.has(index) ? 3 : 2;
    const csv: number[] = found.csv[index];
    expect(csv.length % width).toBe(0);
    const points = Array.from({ length: csv.length / width }, (_, i) =>
      csv.slice(i * width, (i + 1) * width),
    );
    expect(points[0]?.[0]).toBe(found.trackingSince);
    points.reduce((before, point) => {
      expect(point[0]).toBeGreaterThan(before[0] ?? 0);
      expect(point.slice(1)).not.toEqual(before.slice(1));
      return point;
    });
    expect(points.at(-1)?.[0]).toBeLessThanOrEqual(NOW);
  }
  expect(found.csv.flatMap((csv: unknown, index: number) => (csv ? [index] : []))).toEqual(drawn);
});

test('days returns the last days, and the value that was valid when they began', async ({ demo }) => {
  const [whole_] = await products(demo, ['B0AA11BB22'], { buybox: 1 });
  const [cut] = await products(demo, ['B0AA11BB22'], { buybox: 1, days: 100 });
  for (const index of [1, 3, 18]) {
    const width = TRIPLES.has(index) ? 3 : 2;
    const [csv, all]: number[][] = [cut.csv[index], whole_.csv[index]];
    expect(csv?.at(0)).toBeLessThanOrEqual(NOW - 100 * DAY);
    expect(csv?.at(width)).toBeGreaterThan(NOW - 100 * DAY);
    expect(all?.slice(-(csv?.length ?? 0))).toEqual(csv);
  }
  const sellers: string[] = cut.buyBoxSellerIdHistory;
  expect(sellers.every((entry) => typeof entry === 'string')).toBe(true);
  expect(Number(sellers[0])).toBeLessThanOrEqual(NOW - 100 * DAY);
  expect(Number(sellers[2])).toBeGreaterThan(NOW - 100 * DAY);
});

test('history=0 omits every history', async ({ demo }) => {
  const [found] = await products(demo, ['B0AA11BB22'], { history: 0, buybox: 1, stats: 30 });
  expect(found).toMatchObject({
    csv: null,
    salesRanks: null,
    monthlySoldHistory: null,
    buyBoxSellerIdHistory: null,
  });
  expect(found.stats.current[1]).toBeGreaterThan(0);
});

test('series and fields with a surcharge are present only if they are requested', async ({ demo }) => {
  const [plain] = await products(demo, ['B0AA11BB22'], { stats: 90 });
  expect([7, 10, 16, 17, 18, 32].map((index) => plain.csv[index])).toEqual(Array(6).fill(null));
  expect(plain.stats).toMatchObject({ buyBoxPrice: -2, buyBoxShipping: -2 });
  expect([16, 18].map((index) => plain.stats.current[index])).toEqual([-1, -1]);
  expect(plain.liveOffersOrder).toBeNull();
  for (const name of ['offers', 'reviews', 'videos', 'aPlus']) expect(plain).not.toHaveProperty(name);

  const [rated] = await products(demo, ['B0AA11BB22'], { rating: 1, stats: 90 });
  expect(rated.csv[16].at(-1)).toBeGreaterThan(10);
  expect(rated.csv[16].at(-1)).toBeLessThanOrEqual(50);
  expect(rated.reviews).toMatchObject({ ratingCount: expect.any(Array), reviewCount: expect.any(Array) });

  const [boxed] = await products(demo, ['B0AA11BB22'], { buybox: 1, stats: 90 });
  const [price, shipping] = boxed.csv[18].slice(-2);
  expect(boxed.stats).toMatchObject({ buyBoxPrice: price, buyBoxShipping: shipping });
  expect(boxed.stats.current[18]).toBe(price + shipping);
});

test('each statistic has 36 entries that agree with the history', async ({ demo }) => {
  const [{ csv, stats }] = await products(demo, ['B0AA11BB22'], { stats: 30 });
  for (const name of words(`
    current avg avg30 avg90 avg180 avg365 atIntervalStart min max minInInterval maxInInterval isLowest
    isLowest90 outOfStockPercentageInInterval outOfStockPercentage30 outOfStockPercentage90
  `)) {
    expect(stats[name], name).toHaveLength(36);
  }
  expect(stats.avg).toEqual(stats.avg30);
  for (const index of [1, 3, 4, 11]) {
    expect(stats.current[index]).toBe(csv[index].at(-1));
    const values = csv[index].filter((_: number, i: number) => i % 2 === 1);
    expect(stats.min[index][1]).toBe(Math.min(...values));
    expect(stats.max[index][1]).toBe(Math.max(...values));
  }
  const [byDates] = await products(demo, ['B0AA11BB22'], { stats: '2026-02-02,2026-03-04' });
  expect(byDates.stats.avg).toEqual(stats.avg);
});

test('returns live and past offers up to the requested number, with histories of three values a point', async ({
  demo,
}) => {
  const [found] = await products(demo, ['B0AA11BB22'], { offers: 20, stock: 1 });
  expect(found.liveOffersOrder.length).toBeGreaterThan(0);
  expect(found.liveOffersOrder.length).toBeLessThanOrEqual(20);
  for (const index of found.liveOffersOrder) expect(found.offers[index].lastSeen).toBe(NOW);
  for (const offer of found.offers) {
    expect(offer.sellerId).toMatch(/^[A-Z0-9]{10,20}$/);
    expect([1, 2, 3, 4, 5]).toContain(offer.condition);
    expect(offer.offerCSV.length % 3).toBe(0);
    expect(offer.stockCSV.length % 2).toBe(0);
  }
  const [live] = await products(demo, ['B0AA11BB22'], { offers: 20, 'only-live-offers': 1 });
  expect(live.offers).toHaveLength(live.liveOffersOrder.length);
});

test('returns a removed ASIN without data, and omits an unknown one', async ({ demo }) => {
  const found = await products(demo, ['ZZ00000001', 'ZX00000001', 'B0AA11BB22']);
  expect(found.map(({ asin, productType }: Record<string, unknown>) => [asin, productType])).toEqual([
    ['ZZ00000001', 4],
    ['B0AA11BB22', 0],
  ]);
  expect(found[0]).toMatchObject({ title: null, categories: null, csv: Array(36).fill(null) });
  expect(await products(demo, ['ZZ00000001'], { update: -1 })).toEqual([]);
});

test('finds products by their codes, and none by other codes', async ({ demo }) => {
  const asins = ['B0AA110022', 'B0AA110523'];
  const [one, two] = await products(demo, asins);
  expect([one.upcList, two.upcList]).toEqual([[one.eanList[0].slice(1)], null]);
  const code = [one.upcList[0], two.eanList[0], '9780306406157'].join();
  const { json } = await demo.get('product', { domain: 1, code });
  expect(json.products).toEqual([one, two]);
});

test('has the same product with different prices on each site', async ({ demo }) => {
  const [us] = await products(demo, ['B0AA11BB22']);
  const { json } = await demo.get('product', { domain: 5, asin: 'B0AA11BB22' });
  const [jp] = json.products;
  expect(jp).toMatchObject({ domainId: 5, title: us.title, parentAsin: us.parentAsin });
  expect(jp.csv[1]).not.toEqual(us.csv[1]);
});
