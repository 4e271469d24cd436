import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chartUrl, graphImage } from '../../src/operations/market/chart.ts';
import { DEAL_STATES, lightningDeal } from '../../src/operations/market/lightning-deal.ts';
import { product } from '../../src/operations/market/product.ts';
import { imageUrl } from '../../src/operations/retail/image-url.ts';
import { interestByRegion } from '../../src/operations/trends/interest-by-region.ts';
import { relatedQueries } from '../../src/operations/trends/related.ts';
import { dailyTrends, realTimeTrends } from '../../src/operations/trends/trending.ts';
import { fingerprint } from '../../src/platform/fingerprint.ts';
import { canonical, faultsOf, type TakingParameters } from '../support/parameters.ts';
import { words } from '../support/words.ts';

const NUMBERS = [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12];
const CODES = ['us', 'UK', 'de', 'fr', 'jp', 'ca', 'It', 'es', 'in', 'mx', 'br'];

const site = fc.oneof(
  fc.record({ domain: fc.constantFrom(...NUMBERS, ...NUMBERS.map(String)) }),
  fc.record({ domainId: fc.constantFrom(...NUMBERS, ...NUMBERS.map(String)) }),
  fc.record({ country: fc.constantFrom(...CODES) }),
);
const asin = fc.stringMatching(/^[A-Za-z0-9]{10}$/);
const fileName = fc.stringMatching(/^[A-Za-z0-9+_~-]{1,12}\.(jpg|PNG|webp)$/);
const onOff = fc.constantFrom(0, 1, '0', '1', true, false, 'true', 'FALSE');
const colour = fc.stringMatching(/^#?[0-9A-Fa-f]{6}$/);
const moment = fc.integer({ min: 0, max: 4_102_444_800_000 });

function whole(min: number, max: number) {
  const number = fc.integer({ min, max });
  return fc.oneof(number, number.map(String));
}

function listed(item: fc.Arbitrary<string>) {
  const items = fc.array(item, { minLength: 1, maxLength: 12 });
  return fc.oneof(
    items,
    items.map((list) => list.join()),
  );
}

const optional = <T>(shape: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(shape, { requiredKeys: [] });

const history = fc
  .tuple(moment, moment)
  .map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) }))
  .chain((dateRange) =>
    fc.constantFrom<object>(
      {},
      { dateRange },
      { dateRangeStart: dateRange.start, dateRangeEnd: String(dateRange.end) },
      { dateRange, days: 3 },
    ),
  );

const productOptions = optional({
  stats: whole(1, 1000),
  history: onOff,
  update: whole(0, 100),
  offers: whole(0, 100),
  rating: onOff,
  buybox: onOff,
  stock: onOff,
  days: whole(1, 5000),
  detailLevel: fc.constantFrom('summary', 'lite', 'full'),
});

const graphOptions = optional({
  range: whole(1, 10_000),
  WIDTH: whole(1, 2000),
  height: whole(1, 2000),
  yZoom: onOff,
  Retailer: onOff,
  used: onOff,
  salesRank: onOff,
  cFont: colour,
  cbackground: colour,
});

const day = fc
  .date({ min: new Date('2004-01-01'), max: new Date('2026-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const trendOptions = {
  geo: fc.constantFrom('US', 'us-ca', 'JP-13', ' de '),
  hl: fc.constantFrom('en-US', 'ZH-cn', 'ja', 'pt-br'),
  property: fc.constantFrom('web', 'news', 'froogle'),
  timezone: whole(-1439, 1439),
};
const aboutKeywords = merged(
  fc.record({ keyword: listed(fc.stringMatching(/^[a-z]{1,3}$/)).filter((list) => list.length < 6) }),
  optional({ ...trendOptions, startDate: day, endDate: day, category: whole(0, 1000) }),
);

function merged(...parts: fc.Arbitrary<object>[]) {
  return fc.tuple(...parts).map((all) => Object.assign({}, ...all) as object);
}

const CASES: { name: string; operation: TakingParameters<unknown>; sent: fc.Arbitrary<object> }[] = [
  {
    name: product.name,
    operation: product,
    sent: merged(
      site,
      fc.oneof(fc.record({ asins: listed(asin) }), fc.record({ asin })),
      productOptions,
      history,
    ).filter(
      (sent) =>
        !(
          'detailLevel' in sent &&
          sent.detailLevel === 'summary' &&
          ('days' in sent || 'dateRange' in sent || 'dateRangeStart' in sent)
        ),
    ),
  },
  {
    name: lightningDeal.name,
    operation: lightningDeal,
    sent: merged(site, optional({ asin, state: fc.constantFrom(...DEAL_STATES) })),
  },
  { name: graphImage.name, operation: graphImage, sent: merged(site, fc.record({ asin }), graphOptions) },
  {
    name: chartUrl.name,
    operation: chartUrl,
    sent: merged(site, fc.record({ asin }), optional({ asins: listed(asin) })),
  },
  {
    name: imageUrl.name,
    operation: imageUrl,
    sent: merged(site, fc.record({ images: listed(fileName) }), optional({ image: fileName })),
  },
  {
    name: interestByRegion.name,
    operation: interestByRegion,
    sent: merged(aboutKeywords, optional({ resolution: fc.constantFrom('COUNTRY', 'CITY') })),
  },
  { name: relatedQueries.name, operation: relatedQueries, sent: aboutKeywords },
  {
    name: dailyTrends.name,
    operation: dailyTrends,
    sent: optional({ geo: trendOptions.geo, hl: trendOptions.hl, trendDate: day }),
  },
  {
    name: realTimeTrends.name,
    operation: realTimeTrends,
    sent: optional({ ...trendOptions, category: fc.constantFrom('all', 'b', 'm') }),
  },
];

describe.each(CASES)('the canonical input of $name', ({ operation, sent }) => {
  test('parses to itself, even after JSON serialisation', () => {
    fc.assert(
      fc.property(sent, (request) => {
        const once = canonical(operation, request);
        const travelled = JSON.parse(JSON.stringify(once)) as unknown;
        expect(operation.params.parse(once)).toEqual(once);
        expect(operation.params.parse(travelled)).toEqual(once);
        expect(fingerprint(operation.params.parse(travelled))).toBe(fingerprint(once));
      }),
      { numRuns: 100 },
    );
  });

  test('does not depend on the order of the parameters', () => {
    fc.assert(
      fc.property(sent, (request) => {
        const reversed = Object.fromEntries(Object.entries(request).reverse());
        const once = fingerprint(canonical(operation, request));
        expect(fingerprint(canonical(operation, reversed))).toBe(once);
      }),
      { numRuns: 50 },
    );
  });

  test('refuses arbitrary input with readable messages', () => {
    const names = words(`
      domain country asins asin images state days dateRange cfont width keyword geo hl startDate
      trendDate category timezone resolution
    `);
    const nonsense = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(fc.constantFrom(...names), fc.jsonValue()),
    ) as fc.Arbitrary<unknown>;
    fc.assert(
      fc.property(nonsense, (request) => {
        const usable = typeof request === 'object' && request !== null && !Array.isArray(request);
        if (!usable && operation.routes[0].decode) return;
        const problems = Object.values(faultsOf(operation, request));
        for (const problem of problems) expect(problem).not.toMatch(/Invalid|expected|undefined|\[object/);
      }),
      { numRuns: 150 },
    );
  });
});
