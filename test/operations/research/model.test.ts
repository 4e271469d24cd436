import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { QueuedOperation, Source } from '../../../src/operations/define.ts';
import { type QueuedName, queuedOperation } from '../../../src/operations/index.ts';
import { type KeywordWeek, keywordFigures } from '../../../src/operations/research/keyword-figures.ts';
import type { ErrorKind } from '../../../src/platform/errors.ts';
import type { Handler } from '../../../workers/handlers/handler.ts';
import { HANDLERS } from '../../../workers/handlers/index.ts';
import { openTestDatabase } from '../../support/database.ts';
import { csvReport, load, REPORTS, type TestTerm } from '../../support/reports.ts';
import {
  compareModel,
  keywordModel,
  type ModelWeek,
  productModel,
  type RawProduct,
  readReport,
} from '../../support/research-model.ts';

/**
 * Compares the figures of random keywords and products with those of a second, plain computation from the files and
 * records. The recorded ones are not ours to keep here; without them, the others are compared alone.
 */
const FIXTURES = resolve('../shared/fixtures');
const REPORT = join(FIXTURES, 'brand-analytics/top-search-terms-us-week-2026-04-11.csv');
const RECORDED = existsSync(FIXTURES)
  ? 'with recorded data'
  : 'without ../shared/fixtures, which does not exist';

const SEED = Number(process.env.SOUK_TEST_SEED ?? 20_260_411);
const NEWEST = '2026-04-11';
const TERMS = 240;

/** Mulberry32, a small generator of random numbers from 0 to 1. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const random = randomFrom(SEED);
const below = (count: number) => Math.floor(random() * count);
const oneOf = <T>(values: readonly T[]): T => values[below(values.length)] as T;

const minutesOf = (ms: number) => Math.floor(ms / 60_000) - 21_564_000;
const NOW = Date.parse('2026-04-20T15:37:21Z');

const newestText = existsSync(REPORT) ? readFileSync(REPORT, 'utf8') : null;
const vocabulary = [
  ...(newestText ? readReport(newestText).keys() : []),
  ...Array.from({ length: TERMS }, (_, i) => `term number ${i}`),
];

const products = new Map<string, RawProduct>();

/** A series with changes at random times, some of which say that there is no data. */
function seriesUntil(last: number, points: number, value: () => number): number[] {
  const flat: number[] = [];
  let at = last - points * 4_000;
  for (let i = 0; i < points; i += 1) {
    at += 1 + below(7_900);
    if (at > last) break;
    flat.push(at, random() < 0.08 ? -1 : value());
  }
  return flat;
}

function randomProduct(asin: string): RawProduct {
  const last = minutesOf(NOW) - below(50_000);
  const csv: (number[] | null)[] = Array(36).fill(null);
  csv[1] = seriesUntil(last, below(120), () => 500 + below(5_000));
  csv[3] = random() < 0.2 ? null : seriesUntil(last, below(200), () => 1 + below(900_000));
  csv[11] = seriesUntil(last, below(40), () => below(20));
  csv[16] = random() < 0.3 ? null : seriesUntil(last, below(30), () => 10 + below(40));
  csv[17] = seriesUntil(last, below(60), () => below(9_000));
  return {
    asin,
    domainId: 1,
    productType: 0,
    title: `Product ${asin}`,
    brand: oneOf(['Acme', 'Boro', 'Cato', null]),
    parentAsin: oneOf([null, 'B0PARENT00']),
    categoryTree: oneOf([null, [{ catId: 1, name: 'Toys' }]]),
    lastUpdate: last,
    ...(random() < 0.5 ? { monthlySold: 50 * (1 + below(40)) } : {}),
    ...(random() < 0.8 ? { referralFeePercentage: oneOf([8, 15, 15.01, 17]) } : {}),
    ...(random() < 0.8 ? { fbaFees: { pickAndPackFee: 200 + below(900) } } : {}),
    ...(random() < 0.1 ? { variableClosingFee: 180 } : {}),
    csv,
  };
}

for (let i = 0; i < 60; i += 1) {
  const asin = `B0MODEL${String(i).padStart(3, '0')}`;
  products.set(asin, randomProduct(asin));
}

/** Recorded products, by the number of their site. */
const recorded: RawProduct[] = existsSync(FIXTURES)
  ? readdirSync(join(FIXTURES, 'keepa'))
      .filter((file) => file.startsWith('product-'))
      .map((file) => JSON.parse(readFileSync(join(FIXTURES, 'keepa', file), 'utf8')))
      .map((answer: RawProduct) => answer.products?.[0] ?? answer)
  : [];
for (const product of recorded) products.set(product.asin, product);
// The provider does not know the other products of the recorded report.
for (const { products: clicked } of newestText ? readReport(newestText).values() : [])
  for (const { asin } of clicked)
    if (random() < 0.7 && !products.has(asin)) products.set(asin, randomProduct(asin));

const asins = [...products.keys()];

/** A share in the text of a file; some are blank. */
const share = (most: number) => (random() < 0.15 ? '' : String(below(most * 100) / 100));

function randomTerms(): TestTerm[] {
  let rank = 0;
  return vocabulary
    .filter(() => random() < 0.8)
    .map((term) => ({ term, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ term }) => {
      rank += 1 + below(3);
      const chosen = [...new Set([oneOf(asins), oneOf(asins), oneOf(asins)])].slice(0, below(4));
      return { term, rank, products: chosen.map((asin) => [asin, 'A title', share(40), share(20)]) };
    });
}

const weeks = new Map<string, ModelWeek>();
const database = await openTestDatabase();

/** Loads the newest week and some of the thirty weeks before it. */
async function loadWeeks(): Promise<void> {
  for (let before = 30; before >= 0; before -= 1) {
    const week = new Date(Date.parse(NEWEST) - before * 7 * 86_400_000).toISOString().slice(0, 10);
    if (before > 0 && ![4, 12].includes(before) && random() < 0.6) continue;
    const text = before === 0 && newestText ? newestText : csvReport(week, randomTerms());
    weeks.set(week, readReport(text));
    await load(database, 'us', text, week);
  }
}

/** Returns the data of a call as a worker computes it, without what says where figures come from. */
async function compute(name: QueuedName, sent: object, now: number) {
  const operation = queuedOperation(name) as QueuedOperation;
  const input = operation.params.parse(sent);
  const obtain = async (sources: readonly Source[]) =>
    new Map(sources.map(({ key, read }) => [key, read?.({ products: [products.get(key)] })]));
  const { signal } = new AbortController();
  const context = {
    upstream: { reports: { database, provider: REPORTS } },
    obtain,
    obtainPart: obtain,
    now: () => now,
    signal,
    useEdition() {},
  };
  const handler = HANDLERS[name] as unknown as Handler<QueuedOperation>;
  const found = await handler(input, context as unknown as Parameters<typeof handler>[1]);
  if (operation.respond.type !== 'json') throw new Error(`${name} returns a picture`);
  const failures = new Map<string, ErrorKind>();
  const { data } = operation.respond.present(found, input, { now, failures });
  const { figures: _, ...rest } = data;
  return rest;
}

/** A moment at which a product has a history, and now. */
const moment = () => (random() < 0.3 ? NOW : NOW - below(900 * 86_400_000));

describe(`figures equal those of a second computation, ${RECORDED} (SOUK_TEST_SEED=${SEED})`, () => {
  test('of a thousand random keywords', { timeout: 240_000 }, async () => {
    await loadWeeks();
    for (let i = 0; i < 1_000; i += 1) {
      const request = {
        country: 'us',
        domain: 1,
        keyword: random() < 0.02 ? `unknown ${i}` : oneOf(vocabulary),
        weeks: 1 + below(40),
      };
      const now = moment();
      const { domain: _, ...sent } = request;
      const expected = keywordModel(weeks, request, (asin) => products.get(asin), now);
      const errors = expected.products
        .filter(({ asin }) => !products.has(asin))
        .map(({ asin }) => ({ source: 'products', asin, errorId: 'PRODUCT_NOT_FOUND' }));
      const computed = await compute('research.keyword', sent, now);
      expect(computed, JSON.stringify({ request, now })).toEqual({ ...expected, errors });
    }
  });

  test('of a thousand random products', { timeout: 240_000 }, async () => {
    for (let i = 0; i < 1_000; i += 1) {
      const asin = oneOf(random() < 0.1 && recorded.length > 0 ? recorded.map((one) => one.asin) : asins);
      const raw = products.get(asin);
      const request = {
        country: raw.domainId === 5 ? 'jp' : 'us',
        domain: raw.domainId,
        asin,
        cost: random() < 0.3 ? null : below(4_000) / 100,
        otherCosts: random() < 0.5 ? 0 : below(500) / 100,
        weeks: 1 + below(40),
        ...(random() < 0.8 ? {} : { days: 1 + below(30) }),
      };
      const now = moment();
      const { cost, domain, country: _, ...sent } = request;
      const computed = await compute(
        'research.product',
        { ...sent, domain, ...(cost === null ? {} : { cost }) },
        now,
      );
      const expected = productModel(weeks, request, raw, now);
      // No report of the other site is loaded.
      const keywords = domain === 1 ? {} : { keywords: null, hasMoreKeywords: false };
      expect(computed, JSON.stringify({ request, now })).toEqual({
        ...expected,
        ...keywords,
        errors: [],
      });
    }
  });

  test('of a hundred random comparisons', { timeout: 240_000 }, async () => {
    const ofSite = (domain: number) => asins.filter((asin) => products.get(asin).domainId === domain);
    for (let i = 0; i < 100; i += 1) {
      const domain = random() < 0.1 && ofSite(5).length > 1 ? 5 : 1;
      const chosen = [...new Set(Array.from({ length: 6 }, () => oneOf(ofSite(domain))))];
      if (chosen.length < 2) continue;
      const request = { domain, asins: chosen, days: 1 + below(120) };
      const now = moment();
      const { series, summary } = (await compute('research.compare', request, now)) as Record<
        string,
        unknown
      >;
      const expected = compareModel(
        request,
        chosen.map((asin) => products.get(asin)),
        now,
      );
      expect({ series, summary }, JSON.stringify({ request, now })).toEqual(expected);
    }
  });

  test('of two hundred keywords with years of weeks, which have a seasonality', () => {
    let seasons = 0;
    for (let i = 0; i < 200; i += 1) {
      const [loaded, ranked] = [0.5 + random() / 2, 0.5 + random() / 2];
      const years = new Map<string, ModelWeek>();
      const read: KeywordWeek[] = [];
      for (let before = 0; before < 104; before += 1) {
        if (before > 0 && random() > loaded) continue;
        const week = new Date(Date.parse(NEWEST) - before * 7 * 86_400_000).toISOString().slice(0, 10);
        const rank = random() > ranked ? null : 1 + below(5_000);
        years.set(week, new Map(rank === null ? [] : [['k', { rank, products: [] }]]));
        read.push({ week, rank, clicked: [] });
      }
      const count = 1 + below(104);
      const { seasonality, rank, history } = keywordFigures(
        { keyword: 'k', week: NEWEST, weeks: read },
        count,
      );
      const request = { country: 'us', domain: 1, keyword: 'k', weeks: count };
      const expected = keywordModel(years, request, () => undefined, NOW);
      expect({ seasonality, rank, history }).toEqual({
        seasonality: expected.seasonality,
        rank: expected.rank,
        history: expected.history,
      });
      if (seasonality) seasons += 1;
    }
    expect(seasons).toBeGreaterThan(50);
  });
});
