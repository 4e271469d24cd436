import { describe, expect, test } from 'vitest';
import { bestSellers, topSellers } from '../../../src/operations/market/best-sellers.ts';
import { category, categorySearch } from '../../../src/operations/market/category.ts';
import { deal } from '../../../src/operations/market/deal.ts';
import { lightningDeal } from '../../../src/operations/market/lightning-deal.ts';
import { product } from '../../../src/operations/market/product.ts';
import { productFinder } from '../../../src/operations/market/product-finder.ts';
import { productSearch } from '../../../src/operations/market/product-search.ts';
import { seller } from '../../../src/operations/market/seller.ts';
import { variations } from '../../../src/operations/market/variations.ts';
import { canonical, faultsOf, type TakingParameters } from '../../support/parameters.ts';

interface Bounds {
  operation: TakingParameters<unknown>;
  /** The least that is accepted. */
  least: Record<string, unknown>;
  defaults: Record<string, unknown>;
  good: Record<string, unknown[]>;
  bad: Record<string, unknown[]>;
}

const paging = {
  good: { page: [0, 5], perPage: [1, 10_000] },
  bad: { page: [-1, 'x'], perPage: [0, 10_001] },
};
const ids = (count: number) => Array.from({ length: count }, (_, i) => 10_000 + i);
/** The largest id that the provider sends. */
const LARGEST_ID = '9223372036854775807';
const sellers = (count: number) => ids(count).map((id) => `ASELLER${id}`);

const TABLE: Record<string, Bounds> = {
  product: {
    operation: product,
    least: { domain: 1, asins: 'b000000001' },
    defaults: {
      domain: 1,
      asins: ['B000000001'],
      history: true,
      offers: 0,
      rating: false,
      buybox: false,
      stock: false,
      detailLevel: 'lite',
    },
    good: {
      stats: [1, ' 30 ', Number.MAX_SAFE_INTEGER],
      update: [0, '24'],
      offers: [0, 100],
      days: [1, '5000'],
      detailLevel: ['summary', 'lite', 'full'],
    },
    bad: { stats: [['1', '1']], history: [['1', '1']], detailLevel: [['lite', 'lite']] },
  },
  variations: {
    operation: variations,
    least: { domain: 1, asin: 'b000000001' },
    defaults: { domain: 1, asin: 'B000000001', detailLevel: 'full', page: 0, perPage: 1000 },
    good: { detailLevel: ['summary', 'lite', 'full'], page: [0, 9], perPage: [1, 4000] },
    bad: { domain: [0, 7, 13], asin: ['B1', ''], detailLevel: ['all'], page: [-1], perPage: [0, 4001] },
  },
  productSearch: {
    operation: productSearch,
    least: { domain: 1, term: ' pump ' },
    defaults: {
      domain: 1,
      term: 'pump',
      page: 0,
      asinsOnly: false,
      history: false,
      rating: false,
      detailLevel: 'lite',
    },
    good: {
      page: [0, 9],
      stats: [
        '30',
        1,
        '2026-01-01,2026-02-01',
        '1700000000000,1710000000000',
        '2026-01-01T00:00:00Z, 2026-01-02',
      ],
      update: [0, 5],
      historyDays: [1, 30],
      asinsOnly: [0, 'true'],
    },
    bad: {
      term: ['', '  '],
      page: [-1, 10],
      stats: ['0', '-1', 'x', '2026-02-01,2026-01-01', '1,2,3', '2026-01-01', '2026-02-30,2026-03-01'],
      update: [-1],
      historyDays: [0],
      detailLevel: ['huge'],
    },
  },
  categorySearch: {
    operation: categorySearch,
    least: { country: 'de', term: 'kitchen' },
    defaults: { domain: 3, term: 'kitchen' },
    good: { term: ['a b c'] },
    bad: { term: ['', ' ', undefined] },
  },
  category: {
    operation: category,
    least: { domain: 1, category: 0 },
    defaults: { domain: 1, category: 0, parents: false },
    good: { category: [0, '281052', LARGEST_ID], parents: [1, 'false'] },
    bad: { category: [-1, 'x', 1.5, 2 ** 53, '9223372036854775808', undefined], parents: ['yes'] },
  },
  bestSellers: {
    operation: bestSellers,
    least: { domain: 1, category: 5 },
    defaults: { domain: 1, category: 5, range: 0, variations: false, sublist: false },
    good: { category: [LARGEST_ID], range: [0, 30, 90, '180'], ...paging.good },
    bad: { domain: [12], category: [-1, 2 ** 53, undefined], range: [1, 31, 'x'], ...paging.bad },
  },
  seller: {
    operation: seller,
    least: { domain: 1, seller: ' bseller0001,aseller0001,ASELLER0001' },
    defaults: { domain: 1, seller: ['ASELLER0001', 'BSELLER0001'], storefront: false, csvDays: -1 },
    good: { seller: [sellers(100), 'A'.repeat(10), 'A'.repeat(20)], csvDays: [-1, 0, 7], ...paging.good },
    bad: {
      seller: [sellers(101), 'A'.repeat(9), 'A'.repeat(21), 'ASELLER-0001', '', undefined],
      csvDays: [-2],
      update: [-1],
      ...paging.bad,
    },
  },
  topSellers: {
    operation: topSellers,
    least: { domain: 1 },
    defaults: { domain: 1 },
    good: paging.good,
    bad: { domain: [12, undefined], ...paging.bad },
  },
  lightningDeal: {
    operation: lightningDeal,
    least: { domain: 2, asin: ' b00000000a ' },
    defaults: { domain: 2, asin: 'B00000000A' },
    good: {
      asin: [undefined],
      state: ['AVAILABLE', 'UPCOMING', 'WAITLIST', 'SUSPENDED', 'CANCELED', 'EXPIRED', 'SOLDOUT'],
    },
    bad: {
      // The whole site is not read instead, which costs 500 units.
      asin: [
        '',
        ' ',
        'B00000001',
        'B0000000011',
        'B00000000-',
        'B000000001,B000000002',
        1234567890,
        null,
        {},
      ],
      state: ['available', 'SUPPRESSED', 'CANCELLED', '', 1],
      // The provider names none.
      type: ['BEST_DEAL', '', 5, 'x'.repeat(51), 'a\u0000b', 'a\nb'],
    },
  },
  deal: {
    operation: post(deal),
    least: { domainId: 1 },
    defaults: { domainId: 1, priceTypes: [0], sortType: 4, dateRange: 1, page: 0 },
    good: {
      priceTypes: [[0], [18]],
      includeCategories: [ids(500), [LARGEST_ID, 5]],
      page: [0, 66],
      deltaRange: [[0, 100]],
      currentRange: [[-1, -1]],
      minRating: [45],
      isLowest: [true, 1],
    },
    bad: {
      domainId: [7, undefined],
      priceTypes: [[], [0, 1], 0, [4], [16], [34]],
      includeCategories: [ids(501)],
      excludeCategories: [ids(501), 'x', [2 ** 53]],
      page: [-1, 67],
      deltaRange: [[1], [1, 2, 3], [2, 1]],
      domain: [1],
      isRisers: [true],
    },
  },
  productFinder: {
    operation: post(productFinder),
    least: { domain: 1, current_SALES_lte: 5 },
    defaults: {
      domain: 1,
      page: 0,
      perPage: 50,
      sort: [['current_SALES', 'asc']],
      stats: 0,
      selection: { current_SALES_lte: 5 },
    },
    good: {
      perPage: [50, 10_000],
      page: [0, 199],
      stats: [0, 1],
      sort: [
        [],
        [
          ['monthlySold', 'desc'],
          ['title', 'asc'],
        ],
      ],
    },
    bad: {
      domain: [7, undefined],
      perPage: [49, 10_001],
      page: [-1, 200],
      stats: [2, 'x'],
      sort: ['x', [['current_SALES']], [['current_SALES', 'up']]],
    },
  },
};

test('bestSellers refuses a range with sublist, because the provider has no such ranks', () => {
  const sent = { domain: 1, category: 5, sublist: 1 };
  expect(faultsOf(bestSellers, { ...sent, range: 30 })).toEqual({
    range: expect.stringContaining('must be 0 with sublist'),
  });
  expect(faultsOf(bestSellers, { ...sent, range: 0 })).toEqual({});
});

test('category refuses children with category 0, because it returns no subcategories of all root categories', () => {
  for (const root of [0, '0', '-0'])
    expect(faultsOf(category, { domain: 1, category: root, children: 1 })).toEqual({
      children: expect.stringContaining('must not be sent with category 0'),
    });
  expect(faultsOf(category, { domain: 1, category: 0, children: 0 })).toEqual({});
});

test('the error of a deal without a site names only the parameter that the operation accepts', () => {
  const { domainId = '' } = faultsOf(post(deal), {});
  expect(domainId).toMatch(/^is required: it must be one of 1, 2, /);
  expect(domainId).not.toContain('country');
});

/** The operation as its POST route takes it. */
function post(operation: TakingParameters<unknown>): TakingParameters<unknown> {
  return { ...operation, routes: [{ method: 'POST', path: '/' }] };
}

describe.each(Object.entries(TABLE))('%s', (_name, { operation, least, defaults, good, bad }) => {
  test('fills in the defaults, and leaves a canonical input unchanged', () => {
    const input = canonical(operation, least);
    expect(JSON.parse(JSON.stringify(input))).toEqual(defaults);
    expect(operation.params.parse(input)).toEqual(input);
  });

  test.each(rows(good))('accepts %s = %j', (parameter, value) => {
    expect(faultsOf(operation, { ...least, [parameter]: value })).toEqual({});
  });

  test.each(rows(bad))('refuses %s = %j, and names the parameter', (parameter, value) => {
    const faults = faultsOf(operation, { ...least, [parameter]: value });
    expect(Object.keys(faults).map((name) => name.split('.', 1)[0])).toContain(parameter);
  });
});

function rows(values: Record<string, unknown[]>): [string, unknown][] {
  return Object.entries(values).flatMap(([parameter, list]) =>
    list.map((value): [string, unknown] => [parameter, value]),
  );
}
