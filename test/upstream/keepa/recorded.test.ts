import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import type { Product } from '../../../src/operations/products/product.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { parseJson, stringifyJson } from '../../../src/platform/json.ts';
import type { Reply } from '../../support/client.ts';
import { TestClock } from '../../support/clock.ts';
import { conforming, createConformance } from '../../support/conformance.ts';
import { modelCut } from '../../support/history.ts';
import { test as base } from '../../support/souk-test.ts';

/** Answers recorded from the real provider. They are not ours to keep here, so without them these tests are skipped. */
const FOLDER = resolve('../shared/fixtures/keepa');
const hasRecordings = existsSync(FOLDER);

/** A time after the newest recording. */
const NOW = Date.parse('2026-06-01T00:00:00Z');

interface Recording {
  file: string;
  /** The answer of upstream, byte by byte if the file has a whole answer. */
  wire: string;
  product: Product;
}

const recordings = hasRecordings
  ? readdirSync(FOLDER)
      .filter((file) => file.startsWith('product-'))
      .map(readRecording)
  : [];

const LEVELS = ['summary', 'lite', 'full'] as const;

const WINDOWS = [
  { query: '', window: null },
  { query: '&days=1', window: { startMs: NOW - DAY_MS } },
  { query: '&days=400', window: { startMs: NOW - 400 * DAY_MS } },
  { query: '&days=20000', window: { startMs: NOW - 20_000 * DAY_MS } },
  {
    query: `&dateRangeStart=${Date.parse('2024-11-20')}&dateRangeEnd=${Date.parse('2025-06-10')}&days=3`,
    window: { startMs: Date.parse('2024-11-20'), endMs: Date.parse('2025-06-10') },
  },
  { query: '&dateRangeStart=0&dateRangeEnd=1', window: { startMs: 0, endMs: 1 } },
];

/** Each answer to the client is compared with the document. */
const conformance = createConformance(openApiDocument());
const test = base
  .extend('soukOptions', { scope: 'file' }, { clock: new TestClock(NOW) })
  .extend('client', ({ souk, account, upstream: _ }) => conforming(souk.clientOf(account.key), conformance));

describe.skipIf(!hasRecordings)('recorded answers (where ../shared/fixtures/keepa exists)', () => {
  test('exist for more than one site', () => {
    expect(recordings.length).toBeGreaterThanOrEqual(6);
    expect(new Set(recordings.map(({ product }) => product.domainId))).toEqual(new Set([1, 5]));
  });

  test.for(recordings)(
    '$file is returned at every detail level and in every history window',
    async ({ wire, product }, { souk, client }) => {
      souk.upstream.on('product', () => ({ raw: wire }));
      const before = souk.upstream.calls.length;
      for (const { query, window } of WINDOWS) {
        const whole = window ? cut(padded(product), window) : padded(product);
        // The level `summary` has no history, so a window is refused there.
        for (const level of window ? LEVELS.slice(1) : LEVELS) {
          const path = `/api/market/product?domain=${product.domainId}&asins=${product.asin}&stats=90&rating=0`;
          const reply = await client.get(`${path}&detailLevel=${level}${query}`);
          expect(reply.status, reply.body.toString().slice(0, 300)).toBe(200);
          expect(dataOf(reply), `${level} ${query}`).toMatchObject({ count: 1, errors: [] });
          expect(dataOf(reply).products, `${level} ${query}`).toEqual([
            atLevel(whole, level, window !== null),
          ]);
        }
      }
      expect(souk.upstream.calls.length - before).toBe(1);
    },
  );

  test.for([1, 5])('of site %i are returned by one batch in any order', async (site, { souk, client }) => {
    const ofSite = recordings.map(({ product }) => product).filter(({ domainId }) => domainId === site);
    const sorted = ofSite.map(({ asin }) => asin).sort();
    souk.upstream.on('product', () => ({ raw: stringifyJson({ products: ofSite.toReversed() }) }));
    const body = { domain: site, asins: sorted.toReversed(), detailLevel: 'full', stats: 7 };
    const reply = await client.post('/api/market/product', body);
    expect(reply.headers['x-units-consumed']).toBe(String(ofSite.length));
    expect(souk.upstream.calls.at(-1)?.params.asin).toBe(sorted.join());
    expect(dataOf(reply).products.map(({ asin }) => asin)).toEqual(sorted);
    for (const shown of dataOf(reply).products) {
      const recorded = ofSite.find(({ asin }) => asin === shown.asin);
      expect(shown).toEqual(recorded && padded(recorded));
    }
  });

  test('keep integers beyond 2^53', () => {
    const texts = readdirSync(FOLDER)
      .filter((file) => file.endsWith('.json'))
      .map((file) => readFileSync(join(FOLDER, file), 'utf8'));
    const big = (text: string) =>
      text.match(/[:,[]\s*-?\d{16,}/g)?.map((match) => match.replace(/[^\d-]/g, ''));
    expect(texts.flatMap((text) => big(text) ?? [])).not.toEqual([]);
    for (const text of texts) expect(big(stringifyJson(parseJson(text)))).toEqual(big(text));
  });

  test.for([
    ['error-400-bad-key.json', 400],
    ['error-200-in-body.json', 200],
  ] as const)(
    '%s, sent with %i, is an upstream error and costs nothing',
    async ([file, status], { souk, client }) => {
      const raw = readFileSync(join(FOLDER, file), 'utf8');
      souk.upstream.on('product', () => ({ status, raw }));
      const reply = await client.get('/api/market/product?domain=1&asins=B0000000ER&rating=1');
      expect(reply.status).toBe(502);
      expect(reply.json).toMatchObject({ code: 'UPSTREAM_ERROR', metadata: { errorId: expect.any(String) } });
      expect(reply.body.toString()).not.toContain('invalid parameter');
      expect(reply.headers['x-units-consumed']).toBe('0');
    },
  );

  test('of lightning deals are returned whole', async ({ souk, client }) => {
    const raw = readFileSync(join(FOLDER, 'handwritten', 'lightning-deals.json'), 'utf8');
    const { lightningDeals } = JSON.parse(raw) as { lightningDeals: { asin: string }[] };
    souk.upstream.on('lightningdeal', () => ({ raw }));
    const all = await client.get('/api/market/lightningdeal?domain=1');
    expect(all.json.data.lightningDeals).toEqual(lightningDeals);
    const { asin } = lightningDeals[0] ?? {};
    const one = await client.get(`/api/market/lightningdeal?domain=1&asin=${asin}`);
    expect(one.json.data.lightningDeals).toEqual(lightningDeals.filter((deal) => deal.asin === asin));
  });

  test.for(recordings)(
    '$file has its whole family, and offers and ratings',
    async ({ product }, { souk, client }) => {
      souk.upstream.on('product', ({ params }) => ({
        raw: stringifyJson({
          timestamp: 1,
          products: (params.asin ?? '').split(',').map((asin) => ({ ...product, asin })),
        }),
      }));
      const { domainId, asin } = product;
      const members = (product.variations as { asin: string }[] | null | undefined) ?? [{ asin }];
      for (const level of LEVELS) {
        const options = `detailLevel=${level}&stats=90&offers=20&rating=1`;
        const found = await client.get(`/api/market/product?domain=${domainId}&asins=${asin}&${options}`);
        expect(found.status).toBe(200);
        const address = `/api/market/variations?domain=${domainId}&asin=${asin}&detailLevel=${level}`;
        const { variations } = (await client.get(address)).json.data;
        expect(variations.map((member: { asin: string }) => member.asin)).toEqual(
          members.map((one) => one.asin),
        );
        if (level === 'full')
          expect(variations[0].csv?.slice(0, product.csv?.length) ?? null).toEqual(product.csv ?? null);
      }
    },
  );

  test('of 150 deals are returned unchanged, also ids beyond 2^53', async ({ souk, client }) => {
    const wire = readFileSync(join(FOLDER, 'deal-us-150-2025-04-30.json'), 'utf8');
    souk.upstream.on('deal', () => ({ raw: wire }));
    const { body } = await client.post('/api/market/deal', { domainId: 1 });
    const { data } = parseJson(body.toString()) as {
      data: { deals: { dr: unknown[]; categoryIds: unknown[] } };
    };
    const sent = parseJson(wire) as { deals: typeof data.deals };
    expect(data.deals.dr).toHaveLength(150);
    expect(stringifyJson(data.deals)).toBe(stringifyJson(sent.deals));
    expect(data.deals.categoryIds).toContain(9223372036854775807n);
    expect(souk.upstream.callsTo('deal')[0]).toMatchObject({
      body: '{"domainId":1,"priceTypes":[0],"sortType":4,"dateRange":1,"page":0}',
    });
  });
});

function readRecording(file: string): Recording {
  const text = readFileSync(join(FOLDER, file), 'utf8');
  const parsed = parseJson(text) as Product & { products?: Product[] };
  const [product] = parsed.products ?? [parsed];
  if (!product) throw new Error(`${file} holds no product`);
  return { file, wire: parsed.products ? text : `{"products":[${text}]}`, product };
}

function dataOf({ body }: Reply): { products: Product[]; count: number; errors: unknown[] } {
  return (parseJson(body.toString('utf8')) as { data: ReturnType<typeof dataOf> }).data;
}

const EMPTY_ENTRIES: Record<string, unknown> = { csv: null, isLowest: false, isLowest90: false };
for (const field of ['min', 'max', 'minInInterval', 'maxInInterval']) EMPTY_ENTRIES[field] = null;

/** Arrays that had 34 entries in old recordings have 36 in our answers. */
function padded(product: Product): Product {
  const grown = (fields: object) =>
    Object.fromEntries(
      Object.entries(fields).map(([field, value]) => {
        const isOld = Array.isArray(value) && value.length === 34;
        const empty = field in EMPTY_ENTRIES ? EMPTY_ENTRIES[field] : -1;
        return [field, isOld ? [...(value as unknown[]), empty, empty] : value];
      }),
    );
  const result: Product = { ...product };
  if (product.csv) result.csv = grown({ csv: product.csv }).csv;
  if (product.stats) result.stats = grown(product.stats);
  return result;
}

const WITH_SHIPPING = [7, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 32];
const WIDTHS: Record<string, number> = {
  monthlySoldHistory: 2,
  salesRankReferenceHistory: 2,
  parentAsinHistory: 2,
  buyBoxSellerIdHistory: 2,
  couponHistory: 3,
  buyBoxUsedHistory: 4,
  ratingCount: 2,
  reviewCount: 2,
};
const OFFER_WIDTHS: Record<string, number> = { offerCSV: 3, stockCSV: 2, primeExclCSV: 2, couponHistory: 2 };

type Window = Parameters<typeof modelCut>[2];

/** Returns the product cut to a window by a check of each point. */
function cut(product: Product, window: Window): Product {
  const cutFields = (fields: object, widths: Record<string, number>) =>
    Object.fromEntries(
      Object.entries(fields).map(([field, value]) => {
        const width = widths[field];
        return [field, width && Array.isArray(value) ? modelCut<unknown>(value, width, window) : value];
      }),
    );
  const result = cutFields(product, WIDTHS) as Product;
  const { csv, salesRanks, reviews, offers, liveOffersOrder } = product;
  if (csv) {
    result.csv = csv.map((one, i) => one && modelCut(one, WITH_SHIPPING.includes(i) ? 3 : 2, window));
  }
  if (salesRanks) {
    const all = Object.fromEntries(Object.keys(salesRanks).map((category) => [category, 2]));
    result.salesRanks = cutFields(salesRanks, all) as Record<string, number[]>;
  }
  if (reviews) result.reviews = cutFields(reviews, WIDTHS);
  if (offers) {
    const opens = Math.floor(window.startMs / 60_000) - 21_564_000;
    const kept = offers.filter(({ lastSeen = opens }) => lastSeen >= opens);
    result.offers = kept.map((offer) => cutFields(offer, OFFER_WIDTHS));
    if (liveOffersOrder) {
      const places = liveOffersOrder.map((index) => kept.indexOf(offers[index] ?? {}));
      result.liveOffersOrder = places.filter((place) => place >= 0);
    }
  }
  return result;
}

function atLevel(
  product: Product,
  level: (typeof LEVELS)[number],
  hasWindow: boolean,
): Record<string, unknown> {
  if (level === 'full') return product;
  if (level === 'lite') {
    const { csv, salesRanks: _ranks, variationCSV, variations, ...lite } = product;
    const count =
      (variations as unknown[] | null | undefined)?.length || variationCSV?.toString().split(',').length;
    return {
      ...lite,
      ...(hasWindow && csv !== undefined ? { csv } : {}),
      ...(count ? { variationsCount: count } : {}),
    };
  }
  const now = (index: number) => {
    const value = (product.stats?.current as number[] | undefined)?.[index] ?? -1;
    return value < 0 ? -1 : value;
  };
  const known = (fields: Record<string, number>) =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== -1));
  return {
    asin: product.asin,
    domainId: product.domainId,
    parentAsin: product.parentAsin ?? null,
    title: product.title ?? null,
    brand: product.brand ?? null,
    price: now(1),
    amazonPrice: now(0),
    listPrice: now(4),
    bsr: now(3),
    countNew: now(11),
    // The Buy Box and the rating were not requested.
    ...known({ buyboxPrice: now(18), rating: now(16), reviewCount: now(17) }),
    monthlySold: product.monthlySold ?? -1,
    lastUpdate: product.lastUpdate ?? -1,
    image: product.images?.[0]?.l ?? product.imagesCSV?.split(',')[0] ?? null,
  };
}
