import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asinOfLeaf } from '../../demo/catalog/asins.ts';
import { allLeaves } from '../../demo/catalog/categories.ts';
import { productOf } from '../../demo/catalog/products.ts';
import { sketch } from '../../demo/catalog/sketch.ts';
import { type Point, toPoints, valueAtTime } from '../../demo/catalog/stats.ts';
import { DAY } from '../../demo/minutes.ts';

/** 2026-03-04. */
const NOW = 7_979_640;

interface Offer {
  sellerId: string;
  condition: number;
  isFBA: boolean;
  isAmazon: boolean;
  offerCSV: number[];
}

/** Returns a product with all that can be asked for. */
function product(asin: string, domain = 1, nowMinutes = NOW) {
  const all = { history: true, rating: true, buybox: true, stock: true, videos: true, aplus: true };
  const found = productOf(asin, {
    domain,
    nowMinutes,
    statsDays: 90,
    days: null,
    offers: 20,
    onlyLiveOffers: false,
    ...all,
    historicalVariations: true,
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into products of every shape.
  const of = found as any;
  const points = (of.csv as (number[] | null)[]).map((series, index) => toPoints(series, index));
  const live: Offer[] = (of.liveOffersOrder ?? []).map((i: number) => of.offers[i]);
  return { of, stats: of.stats, points, live };
}

const anyAsin = fc
  .string({
    unit: fc.constantFrom(...Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')),
    minLength: 8,
    maxLength: 8,
  })
  .map((rest) => `B0${rest}`);
const anyCall = fc.record({
  asin: anyAsin,
  domain: fc.constantFrom(1, 2, 5),
  now: fc.integer({ min: NOW, max: NOW + 700 * DAY }),
});

/** The same products in every run. */
const asins = fc.sample(anyAsin, { numRuns: 80, seed: 7 });
const products = asins.map((asin) => ({ asin, ...product(asin) }));
const PRICES = [0, 1, 2, 7, 10, 18, 32];

const landed = ({ offerCSV }: Offer) => (offerCSV.at(-2) ?? 0) + (offerCSV.at(-1) ?? 0);
const lowest = (offers: readonly Offer[]) => (offers.length === 0 ? -1 : Math.min(...offers.map(landed)));

test('statistics, counts and buy boxes of a product are those of its live offers, at any time on any site', () => {
  fc.assert(
    fc.property(anyCall, ({ asin, domain, now }) => {
      const { of, stats, points, live } = product(asin, domain, now);
      expect(stats.current).toEqual(points.map((series) => series.at(-1)?.[1] ?? -1));
      const fresh = live.filter(({ condition }) => condition === 1);
      const used = live.filter(({ condition }) => condition > 1);
      const fba = fresh.filter(({ isFBA }) => isFBA);
      const fbm = fresh.filter(({ isFBA }) => !isFBA);
      expect([0, 1, 2, 7, 10].map((index) => stats.current[index])).toEqual(
        [
          fresh.filter(({ isAmazon }) => isAmazon),
          fresh,
          used,
          fbm,
          fba.filter(({ isAmazon }) => !isAmazon),
        ].map(lowest),
      );
      const counts = [fresh, used, fba, fbm].map(({ length }) => length);
      expect([11, 12, 34, 35].map((index) => stats.current[index])).toEqual(counts);
      expect([stats.totalOfferCount, stats.retrievedOfferCount]).toEqual([live.length, live.length]);
      expect(stats.offerCountFBA + stats.offerCountFBM).toBe(live.length);
      expect(of.buyBoxEligibleOfferCounts.slice(0, 2)).toEqual([fba.length, fbm.length]);
      const box = fresh.find(({ sellerId }) => sellerId === stats.buyBoxSellerId);
      expect([stats.buyBoxPrice, stats.buyBoxShipping]).toEqual(box?.offerCSV.slice(-2));
      expect([stats.buyBoxIsFBA, stats.buyBoxIsAmazon]).toEqual([box?.isFBA, box?.isAmazon]);
      expect(of.buyBoxSellerIdHistory.at(-1)).toBe(stats.buyBoxSellerId);
      const usedBox = used.find(({ sellerId }) => sellerId === stats.buyBoxUsedSellerId);
      expect([stats.buyBoxUsedPrice, stats.buyBoxUsedShipping]).toEqual(
        usedBox?.offerCSV.slice(-2) ?? [-1, -1],
      );
      expect(stats.buyBoxUsedCondition).toBe(usedBox?.condition ?? null);
      const won = Object.values<{ percentageWon: number }>(stats.buyBoxStats);
      expect(won.reduce((sum, { percentageWon }) => sum + percentageWon, 0)).toBeCloseTo(100, 0);
      if (of.monthlySold !== null) expect(of.monthlySoldHistory.at(-1)).toBe(of.monthlySold);
    }),
    { seed: 1, numRuns: 150 },
  );
});

test('at every change of a history, the lowest new price is that of some offer, and used prices have used offers', () => {
  for (const { points } of products)
    for (const [time] of [0, 1, 2, 7, 10, 12].flatMap((index) => points[index] ?? [])) {
      const [retailer = -1, fresh = -1, used = -1, fbm = -1, fba = -1, count = 0] = [0, 1, 2, 7, 10, 12].map(
        (index) => valueAtTime(points[index] ?? [], time),
      );
      expect(fresh).toBe(Math.min(...[retailer, fbm, fba].filter((price) => price > 0)));
      expect(used > 0).toBe(count > 0);
    }
});

test('lists have the values of the product', () => {
  for (const { asin, stats, points } of products) {
    const listed = sketch(asin, 1);
    expect(stats.current.map((_: number, index: number) => listed.current(index, NOW))).toEqual(
      stats.current,
    );
    for (const index of [1, 3, 17, 18]) {
      expect(listed.average(index, 30, NOW)).toBe(stats.avg30[index]);
      expect(listed.isLowest(index, NOW)).toBe(stats.isLowest[index]);
      const earlier = points[index]?.findLast(([, value]) => value !== stats.current[index]);
      expect(listed.previous(index, NOW)).toBe(earlier?.[1] ?? -1);
    }
    expect(listed.rankDrops(90, NOW)).toBe(stats.salesRankDrops90);
  }
});

const distinct = (values: readonly unknown[]) => new Set(values).size;

test('prices and ranks change at irregular moments, at all times of the day', () => {
  for (const { points } of products)
    for (const index of [...PRICES, 3, 11]) {
      const times = (points[index] ?? []).slice(1).map(([time]) => time);
      if (times.length < 12) continue;
      const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
      expect(distinct(gaps)).toBeGreaterThan(0.5 * gaps.length);
      expect(distinct(times.map((time) => time % DAY))).toBeGreaterThan(0.4 * Math.min(DAY, times.length));
    }
});

test('price histories with the same values have them at the same times', () => {
  for (const { points } of products)
    for (const one of PRICES)
      for (const other of PRICES) {
        const [a = [], b = []] = [points[one]?.slice(-8), points[other]?.slice(-8)];
        if (a.length < 8 || a.some(([, value], i) => value !== b[i]?.[1])) continue;
        // The first value may have been that of another offer before.
        expect(a.slice(1).map(([time]) => time)).toEqual(b.slice(1).map(([time]) => time));
      }
});

/** Returns the logarithms of the values of a series on each of the last days. */
function daily(points: readonly Point[] | undefined, days: number): number[] {
  return Array.from({ length: days }, (_, day) =>
    Math.log(Math.max(1, valueAtTime(points ?? [], NOW - day * DAY))),
  );
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanA, meanB] = [mean(a), mean(b)];
  const product = (x: readonly number[], y: readonly number[], meanX: number, meanY: number) =>
    mean(x.map((value, i) => (value - meanX) * ((y[i] ?? 0) - meanY)));
  return product(a, b, meanA, meanB) / Math.sqrt(product(a, a, meanA, meanA) * product(b, b, meanB, meanB));
}

const average = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

test('a rank does not repeat after a period, and follows the price', () => {
  const ranks = products.map(({ points }) => daily(points[3], 300));
  for (let lag = 45; lag <= 120; lag += 1)
    expect(average(ranks.map((rank) => correlation(rank.slice(lag), rank.slice(0, -lag))))).toBeLessThan(0.4);
  const prices = products.map(({ points }) => daily(points[1], 300));
  expect(average(ranks.map((rank, i) => correlation(rank, prices[i] ?? [])))).toBeGreaterThan(0.15);
});

test('nearly every retailer runs out of stock, and lowers a price for some days', () => {
  const sold = products.map(({ points }) => points[0] ?? []).filter(({ length }) => length > 40);
  expect(sold.length).toBeGreaterThan(20);
  const share = (holds: (points: Point[]) => boolean) => sold.filter(holds).length / sold.length;
  expect(share((points) => points.some(([, price]) => price < 0))).toBeGreaterThan(0.9);
  const isPromotion = ([time, price]: Point, i: number, points: Point[]) => {
    const [[, before], [end, after]] = [points[i - 1] ?? [0, 0], points[i + 1] ?? [0, 0]];
    return price > 0 && price < 0.93 * before && price < 0.93 * after && end - time < 12 * DAY;
  };
  expect(share((points) => points.some(isPromotion))).toBeGreaterThan(0.8);
});

test('reviews grow by different numbers, and never become fewer', () => {
  for (const { points } of products) {
    const counts = points[17]?.map(([, count]) => count) ?? [];
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    if ((counts.at(-1) ?? 0) < 1000) continue;
    const months = Array.from({ length: 12 }, (_, i) => valueAtTime(points[17] ?? [], NOW - i * 30 * DAY));
    expect(distinct(months.slice(1).map((count, i) => (months[i] ?? 0) - count))).toBeGreaterThan(7);
  }
});

test('members of a family have similar ranks, and the same reviews', () => {
  for (const { of } of products.filter((found) => found.of.variations !== null).slice(0, 12)) {
    const members = of.variations.map(({ asin }: { asin: string }) => product(asin).stats.current);
    const ranks = members.map((current: number[]) => current[3]);
    expect(Math.max(...ranks) / Math.min(...ranks)).toBeLessThan(10);
    expect(distinct(members.map((current: number[]) => current[17]))).toBe(1);
  }
});

test.each([
  ['summer', 7, 12],
  ['gifts', 12, 6],
] as const)('products for %s sell better in month %i than in month %i', (season, best, worst) => {
  const leaves = allLeaves().flatMap((leaf, index) => (leaf.season === season ? index : []));
  const ratios = leaves.flatMap((leaf) => {
    const { of, points } = product(asinOfLeaf(leaf, 3));
    const rankIn = (month: number) => {
      const days = Array.from({ length: 28 }, (_, day) => Date.UTC(2025, month - 1, day + 1));
      return average(days.map((day) => valueAtTime(points[3] ?? [], day / 60_000 - 21_564_000)));
    };
    return of.trackingSince > NOW - 300 * DAY ? [] : Math.log(rankIn(best) / rankIn(worst));
  });
  expect(average(ratios)).toBeLessThan(Math.log(0.7));
});

test.each([
  [
    'B08N5WRWNX',
    'Harrow & Lane Portable Running Shoes, Green, L',
    'Harrow & Lane',
    '44441YA1WL.svg',
    'BP8N5WRW1Z',
  ],
  ['B07FZ8S74R', 'Acme Heavy Duty Pruning Shears, Pink, Small', 'Acme', '42W7NBP94L.svg', 'BP7FZ8S70H'],
  ['B0AA11BB22', 'Solenne Classic Shampoo, Lavender, 2 Pack', 'Solenne', '4184FWBWBL.svg', null],
  ['B0C3CDEF01', 'Greenlock Premium Grow Light, Blue, Small', 'Greenlock', '43126R9Q6L.svg', 'BPC3CDEF00'],
  ['B0ZZZZZZ7Q', 'Marlow Compact Umbrella, Red, XL', 'Marlow', '44A3NYPTSL.svg', 'BPZZZZZZ00'],
  ['B04ZFE00BZ', 'Pixen Professional Phone Case, Blue, with Case', 'Pixen', '40G2EDQDQL.svg', null],
  ['B0J5BR002E', 'Ferrum Heavy Duty Dinner Plates, Black, Large', 'Ferrum', '4110EF592L.svg', 'BPJ5BR000L'],
  ['B0TTF400LG', 'Deskwise Professional Desk Lamp, Black, 3 Pack', 'Deskwise', '42N081P1PL.svg', null],
  ['B09O01001W', 'Oakline Heavy Duty Baking Sheet, Red, Large', 'Oakline', '40M3UVEKEL.svg', 'BP9O010006'],
  ['BP8N5WRW1Z', 'Harrow & Lane Portable Running Shoes', 'Harrow & Lane', '44441YAYRL.svg', null],
] as const)(
  '%s has the same texts, picture, family and list price in every version and on every day',
  (asin, title, brand, image, parentAsin) => {
    for (const now of [NOW, NOW + 400 * DAY]) {
      const { of, stats } = product(asin, 2, now);
      expect(of).toMatchObject({ title, brand, images: [{ l: image }], parentAsin });
      expect(stats.current[4]).toBe(product(asin, 2).stats.current[4]);
    }
  },
);
