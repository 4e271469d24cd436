import fc from 'fast-check';
import { expect } from 'vitest';
import { QUEUED } from '../../../src/operations/index.ts';
import { drawsPictures, newAsin } from '../../support/answers.ts';
import { loadKeywords } from '../../support/operation-samples.ts';
import { repetitions } from '../../support/repetitions.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';
import { words } from '../../support/words.ts';

/** New ASINs, so that each call is a new one. */
const fresh = (count: number) => Array.from({ length: count }, newAsin);

const onOff = fc.constantFrom(0, 1);
const detailLevel = fc.constantFrom('summary', 'lite', 'full');
const text = fc.stringMatching(/^[a-z]{3,12}$/);
const number = fc.integer({ min: 1, max: 1_000_000_000 });
const sellerIds = fc.array(fc.stringMatching(/^A[A-Z0-9]{12}$/), { minLength: 1, maxLength: 4 });
const domain = 1;

/** Arbitrary query parameters for each operation. */
const REQUESTS: Record<string, fc.Arbitrary<object>> = {
  'market/product': fc
    .record({
      count: fc.integer({ min: 1, max: 30 }),
      offers: fc.constantFrom(0, 20, 40),
      rating: onOff,
      detailLevel,
    })
    .map(({ count, ...options }) => ({ domain, asins: fresh(count).join(), ...options })),
  'market/variations': fc
    .record({ page: fc.nat(1), perPage: fc.constantFrom(1, 2, 50), detailLevel })
    .map((options) => ({ domain, asin: fresh(1).join(), ...options })),
  'market/productfinder': fc
    .record({ title: text, stats: fc.constantFrom(0, 1), current_SALES_lte: number })
    .map((selection) => ({ selection: JSON.stringify({ domain, ...selection }) })),
  'market/productsearch': fc.record({ domain: fc.constant(domain), term: text, page: fc.nat(9) }),
  'market/categorysearch': fc.record({ domain: fc.constant(domain), term: text }),
  'market/category': fc.record({ domain: fc.constant(domain), category: number }),
  'market/bestseller': fc.record({ domain: fc.constant(domain), category: number, page: fc.nat(2) }),
  'market/seller': fc.oneof(
    sellerIds.map((ids) => ({ domain, seller: ids.join() })),
    sellerIds.map(([id]) => ({ domain, seller: id, storefront: 1 })),
  ),
  'market/topseller': fc.record({ domain: fc.constantFrom(1, 2, 3, 4, 5, 6, 8, 9, 10, 11), page: fc.nat(3) }),
  'market/deal': number.map((salesRank) => ({
    selection: JSON.stringify({ domainId: domain, isRangeEnabled: true, salesRankRange: [1, salesRank] }),
  })),
  'market/lightningdeal': fc
    .constantFrom(true, false)
    .map((one) => ({ domain, ...(one ? { asin: fresh(1).join() } : {}) })),
  'market/graphimage': fc
    .record({ width: fc.integer({ min: 300, max: 400 }) })
    .map((options) => ({ domain, asin: fresh(1).join(), ...options })),
  'research/keyword': fc.record({ country: fc.constant('us'), keyword: text, trends: onOff }),
  'research/product': fc
    .record(
      { weeks: fc.integer({ min: 1, max: 104 }), days: fc.integer({ min: 1, max: 365 }) },
      { requiredKeys: ['weeks'] },
    )
    .map((options) => ({ domain, asin: fresh(1).join(), ...options })),
  'research/compare': fc
    .integer({ min: 2, max: 10 })
    .map((count) => ({ domain, asins: fresh(count).join() })),
  'research/screen': fc.record({ country: fc.constant('us'), limit: fc.integer({ min: 1, max: 1_000 }) }),
};

const json = fc.jsonValue({ maxDepth: 2 });

/** A product of upstream: alone, with a parent, with variations, incomplete, or malformed. */
const product = fc.oneof(
  fc.record({ title: text }),
  fc.record({ title: text, parentAsin: fc.constantFrom('B0PARENT01', 'B0PARENT02') }),
  fc.record({
    title: text,
    parentAsin: fc.constantFrom('B0PARENT01', null, ''),
    variations: fc.oneof(
      fc.array(
        fc.record({ asin: fc.constantFrom('B0CHILD001', 'B0CHILD002', 'B0CHILD003'), attributes: json }),
      ),
      json,
    ),
    variationCSV: fc.constantFrom(null, '', 'B0CHILD001,B0CHILD002'),
  }),
  fc.record({ title: json, csv: json, stats: json, variations: json, productType: json }),
  fc.constant({}),
  fc.constant(null),
);

const answer = fc.record({
  products: fc.oneof(
    { weight: 5, arbitrary: fc.array(product, { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: json },
  ),
  other: fc.oneof(json, fc.array(json, { maxLength: 4 }), fc.dictionary(text, json, { maxKeys: 4 })),
});

const FIELDS = words(`
  asinList categories categoryParents bestSellersList sellers sellerIdList deals lightningDeals
  totalResults searchInsights
`);

test('the generated requests cover every marketplace operation and every operation that may charge less than its quote', () => {
  const needed = QUEUED.filter(({ name, price }) => name.startsWith('market.') || price.settle);
  const names = needed.map(({ name }) => name.replace('.', '/'));
  expect(Object.keys(REQUESTS).sort()).toEqual(names.sort());
});

const request = fc.constantFrom(...Object.keys(REQUESTS)).chain((path) =>
  (REQUESTS[path] ?? fc.constant({})).map((params) => {
    const query = new URLSearchParams(params as Record<string, string>).toString();
    return `/api/${path}?${query}`;
  }),
);

test('charges a call its quote or less, for all requests and upstream answers', async ({ souk, client }) => {
  const seen = { charged: 0, less: 0, refunded: 0 };
  await loadKeywords(souk.database);
  await fc.assert(
    fc.asyncProperty(request, answer, async (path, { products, other }) => {
      for (const endpoint of 'product search query category bestsellers seller topseller deal'.split(' '))
        souk.upstream.on(endpoint, ({ params }) => ({
          json: { ...fieldsOf(other), products: productsOf(params.asin, products) },
        }));
      souk.upstream.on('lightningdeal', () => ({ json: fieldsOf(other) }));
      souk.upstream.on('graphimage', drawsPictures);
      const quote = (await client.get(`${path}&dryRun=1`)).json.data;
      expect(quote).toMatchObject({ admitted: true });
      const before = await unitsUsed(client);
      const { status, headers } = await client.get(path);
      expect([200, 404, 502]).toContain(status);
      const charged = (await unitsUsed(client)) - before;
      expect(headers['x-units-consumed']).toBe(String(charged));
      expect(charged).toBeLessThanOrEqual(quote.units);
      if (status !== 200) expect(charged).toBe(0);
      if (status !== 200) seen.refunded += 1;
      else if (charged < quote.units) seen.less += 1;
      else seen.charged += 1;
    }),
    { numRuns: repetitions(30) },
  );
  // The answers were of every shape.
  for (const times of Object.values(seen)) expect(times).toBeGreaterThan(0);
}, 60_000);

/** The requested products in arbitrary shapes; some may be missing. */
function productsOf(asked: string | undefined, shapes: unknown): unknown {
  if (!Array.isArray(shapes) || asked === undefined) return shapes;
  return asked.split(',').map((asin, i) => {
    const shape: unknown = shapes[i % shapes.length];
    return typeof shape === 'object' && shape !== null ? { asin, ...shape } : shape;
  });
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return Object.fromEntries(FIELDS.map((field) => [field, value]));
}
