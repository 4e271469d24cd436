import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toUpstream } from '../../../src/operations/market/finder-fields.ts';
import { productFinder } from '../../../src/operations/market/product-finder.ts';
import { words } from '../../support/words.ts';

const parse = (sent: object) => productFinder.params.safeParse({ domain: 1, ...sent });
const selectionOf = (sent: object) => productFinder.params.parse({ domain: 1, ...sent }).selection;
const problems = (sent: object) =>
  Object.fromEntries((parse(sent).error?.issues ?? []).map(({ path, message }) => [path.join('.'), message]));

/** Every field that the interface specification names. */
const SPECIFIED = {
  ...Object.fromEntries(
    words(`
      current_AMAZON current_BUY_BOX_SHIPPING current_NEW current_USED current_SALES avg30_SALES
      monthlySold salesRankDrops30 current_RATING current_COUNT_REVIEWS
      deltaPercent30_BUY_BOX_SHIPPING
    `).flatMap((name) => [
      [`${name}_gte`, 1],
      [`${name}_lte`, 100],
    ]),
  ),
  categories_include: [3, 1],
  categories_exclude: [2],
  rootCategory: 5,
  brand: ['b', 'a'],
  productType: [0],
  hasReviews: true,
  isLowest_BUY_BOX_SHIPPING: true,
  title: 'pump -manual',
};

describe('the grammar of a selection', () => {
  test('accepts every field of the specification', () => {
    expect(problems(SPECIFIED)).toEqual({});
    expect(selectionOf(SPECIFIED)).toMatchObject({
      categories_include: [1, 3],
      rootCategory: [5],
      brand: ['a', 'b'],
    });
  });

  test.each([
    ['avg90_COUNT_NEW_gte', 3],
    ['delta7_NEW_FBA_lte', 5],
    ['lastPriceChange_AMAZON_gte', 7_000_000],
    ['backInStock_NEW', false],
    ['isLowest90_AMAZON', 1],
    ['isHighest_BUY_BOX_SHIPPING', true],
    ['department', 'Kitchen'],
    ['mpn', ['AB-1', 'AB-2']],
    ['couponSNSAbsolute_gte', 100],
    ['hazardousMaterialType_lte', 3],
    ['srAvg011_lte', 1000],
    ['unitValue_gte', 1.5],
    ['buyBoxSellerId', 'ASELLER00001'],
    ['availabilityAmazon', [-1, 0]],
    ['salesRankReference', 12],
  ])('accepts %s', (name, value) => {
    expect(problems({ [name]: value })).toEqual({});
  });

  test.each([
    ['current_SALES', 5, '; did you mean current_SALES_gte or current_SALES_lte?'],
    ['current_NEW_let', 5, '; did you mean current_NEW_lte?'],
    ['avg31_SALES_gte', 5, '; did you mean avg1_SALES_gte or avg30_SALES_gte?'],
    ['monthlySold', 5, '; did you mean monthlySold_gte or monthlySold_lte?'],
    ['perPages', 50, '; did you mean perPage?'],
    ['manufacturers', 'x', '; did you mean manufacturer?'],
    ['key', 'x', ''],
    ['srAvg312_lte', 5, ''],
  ])('refuses the unknown field %s, names it and suggests the nearest', (name, value, suggestion) => {
    expect(problems({ title: 'x', [name]: value })).toEqual({
      [`selection.${name}`]: `is not a field of the selection${suggestion}`,
    });
  });

  test('suggests names for the first three of many unknown fields', () => {
    const unknown = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`titl${i % 10}${i}`, 1]));
    const found = Object.values(problems({ title: 'x', titel: 1, brnad: 1, ...unknown }));
    expect(found).toHaveLength(502);
    expect(found.filter((problem) => problem.includes('did you mean'))).toHaveLength(3);
  });

  test.each([
    ['current_SALES_gte', 'many', 'an integer'],
    ['current_SALES_gte', 1.5, 'an integer'],
    ['hasReviews', 'maybe', '0, 1, true or false'],
    ['current_SALES_gte', [5], 'an integer, got a list'],
    ['brand', [], 'a text or a list of 1 to 50 texts, got 0 items'],
    [
      'brand',
      Array.from({ length: 51 }, (_, i) => `b${i}`),
      'a text or a list of 1 to 50 texts, got 51 items',
    ],
    ['categories_include', [1, 'x'], 'an integer or a list of 1 to 50 integers, got "x" as item 2'],
    ['title', '', 'a text of 1 to 1000 characters'],
  ])('refuses %s = %j, and states the allowed values', (name, value, wanted) => {
    expect(problems({ [name]: value })[`selection.${name}`]).toContain(`must be ${wanted}`);
  });

  test.each([
    ['current_NEW', 100, 1],
    ['unitValue', 1.5, 1.4],
    ['current_SALES', '9007199254740993', 5],
  ])('refuses an empty range of %s', (field, from, to) => {
    expect(problems({ [`${field}_gte`]: from, [`${field}_lte`]: to })).toEqual({
      [`selection.${field}_lte`]: `must not be below ${field}_gte (${from}), got ${to}`,
    });
    expect(problems({ [`${field}_gte`]: to, [`${field}_lte`]: to })).toEqual({});
  });

  test.each([
    [
      'current_SALES',
      { sort: 'must be a list of at most 3 pairs [field, "asc" or "desc"], got "current_SALES"' },
    ],
    [[['curent_SALES', 'asc']], { 'sort.0.0': expect.stringContaining('did you mean current_SALES?') }],
    [[['current_SALES', 'up']], { 'sort.0.1': 'must be asc or desc, got "up"' }],
  ])('refuses the order %j once, and names the nearest field', (sort, expected) => {
    expect(problems({ title: 'x', sort })).toEqual(expected);
  });

  test('names a page size that is too large, and no page', () => {
    expect(Object.keys(problems({ title: 'x', perPage: 10_001 }))).toEqual(['perPage']);
  });

  test.each([
    [{ domain: '1' }, { domain: 2, title: 'x' }, 'has another domain than the query'],
    [{ country: 'us' }, { domain: 2, title: 'x' }, 'do not agree'],
  ])('refuses a selection for another site than the query %j', (query, selection, problem) => {
    const send = () =>
      productFinder.params.parse(
        productFinder.routes[1]?.decode?.({
          query: { ...query, selection: JSON.stringify(selection) },
          body: undefined,
          params: {},
        }),
      );
    expect(send).toThrow(problem);
  });

  test('accepts a selection that repeats the site of the query', () => {
    const query = { domain: '1', country: 'us', selection: '{"domain": 1, "country": "US", "title": "x"}' };
    const sent = productFinder.routes[1]?.decode?.({ query, body: undefined, params: {} });
    expect(productFinder.params.parse(sent)).toMatchObject({ domain: 1 });
  });

  test('refuses a body whose selection is for another site', () => {
    expect(problems({ domain: 1, selection: { domain: 2, title: 'x' } })).toEqual({
      selection: 'is a query for the site 2, but the call is for 1 (us)',
    });
  });

  test('names all invalid fields together', () => {
    const found = problems({ domain: 7, perPage: 1, foo: 1, current_SALES_gte: 'x' });
    expect(Object.keys(found).sort()).toEqual([
      'domain',
      'perPage',
      'selection.current_SALES_gte',
      'selection.foo',
    ]);
  });

  test('requires a filter', () => {
    expect(problems({})).toEqual({ selection: expect.stringContaining('at least one filter') });
  });

  test('refuses a page beyond the first 10,000 results', () => {
    expect(problems({ title: 'x', perPage: 5000, page: 1 })).toEqual({});
    expect(problems({ title: 'x', perPage: 5000, page: 2 }).page).toContain('10000');
  });

  test('keeps ids beyond 2^53 unchanged', () => {
    const selection = selectionOf({ categories_exclude: [9223372036854775807n], salesRankReference: 4 });
    expect(selection).toEqual({ categories_exclude: ['9223372036854775807'], salesRankReference: 4 });
    expect(toUpstream(selection)).toEqual({
      categories_exclude: [9223372036854775807n],
      salesRankReference: 4,
    });
  });

  test('has the same canonical input in any order and with repetitions', () => {
    const list = fc.array(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(list, fc.integer({ min: 0, max: 9 }), (ids, turn) => {
        const turned = [...ids.slice(turn), ...ids.slice(0, turn), ...ids.slice(0, 2)];
        const one = productFinder.params.parse({ domain: 1, title: 'a', categories_include: ids });
        const other = productFinder.params.parse({ categories_include: turned, title: 'a', country: 'US' });
        expect(other).toEqual(one);
        expect(productFinder.params.parse(one)).toEqual(one);
      }),
    );
  });
});

describe('a pasted query of the provider’s finder', () => {
  const SELECTION = {
    current_SALES_lte: 5000,
    rootCategory: ['172282'],
    productType: [0],
    sort: [['current_SALES', 'asc']],
    perPage: 100,
    page: 0,
  };
  const parsed = productFinder.params.parse({ domain: 1, ...SELECTION });
  const shown = `https://api.keepa.com/query?domain=1&key=SECRET&selection=${encodeURIComponent(JSON.stringify(SELECTION))}`;

  test.each([
    ['its JSON', { domain: 1, selection: JSON.stringify(SELECTION, null, 2) }],
    ['its JSON as an object', { domain: 1, selection: SELECTION }],
    ['the address for programs, with its site and without its key', { selection: shown }],
  ])('is accepted as %s', (_, sent) => {
    expect(productFinder.params.parse(sent)).toEqual(parsed);
  });

  const page = (f: object, s?: object) =>
    `https://keepa.com/#!finder/${encodeURIComponent(JSON.stringify({ f, ...(s ? { s } : {}), t: 'g' }))}`;
  const number = (type: string, filter: number, filterTo: number | null = null) => ({
    filterType: 'number',
    type,
    filter,
    filterTo,
  });
  const names = (filter: string, type: string) => ({ filterType: 'autocomplete', filter, type });

  test.each<[string, string, object, object]>([
    [
      'prices',
      'us',
      { BUY_BOX_SHIPPING_avg90: number('greaterThanOrEqual', 60.5) },
      { avg90_BUY_BOX_SHIPPING_gte: 6050 },
    ],
    ['fees', 'us', { fbaFees: number('lessThanOrEqual', 4.5) }, { fbaFees_lte: 450 }],
    [
      'amounts of coupons',
      'us',
      {
        couponOneTimeAbsolute: number('greaterThanOrEqual', 10),
        couponSNSAbsolute: number('greaterThanOrEqual', 2.5),
        couponOneTimePercent: number('greaterThanOrEqual', 10),
      },
      { couponOneTimeAbsolute_gte: 1000, couponSNSAbsolute_gte: 250, couponOneTimePercent_gte: 10 },
    ],
    [
      'deviations of prices',
      'us',
      { buyBoxStandardDeviation30: number('lessThanOrEqual', 2) },
      { buyBoxStandardDeviation30_lte: 200 },
    ],
    ['yes', 'us', { buyBoxIsFBA: number('equals', 1) }, { buyBoxIsFBA: true }],
    ['no', 'us', { SALES_isLowest: number('equals', 0) }, { isLowest_SALES: false }],
    ['prices without cents', 'jp', { NEW_current: number('lessThanOrEqual', 600) }, { current_NEW_lte: 600 }],
    [
      'percents',
      'us',
      { AMAZON_deltaPercent90: number('greaterThanOrEqual', 9) },
      { deltaPercent90_AMAZON_gte: 9 },
    ],
    [
      'ranges of ranks',
      'us',
      { SALES_current: number('inRange', 1, 500) },
      { current_SALES_gte: 1, current_SALES_lte: 500 },
    ],
    ['stars', 'us', { RATING_current: number('greaterThanOrEqual', 4.5) }, { current_RATING_gte: 45 }],
    [
      'counts',
      'us',
      { salesRankDrops30: number('equals', 10) },
      { salesRankDrops30_gte: 10, salesRankDrops30_lte: 10 },
    ],
    ['names', 'us', { brand: names('lego###dyson', 'isOneOf') }, { brand: ['dyson', 'lego'] }],
    ['excluded names', 'us', { brand: names('lego###dyson', 'isNoneOf') }, { brand: ['✜dyson', '✜lego'] }],
    ['categories', 'us', { categories: names('5###7', 'isNoneOf') }, { categories_exclude: [5, 7] }],
    [
      'kinds of products',
      'us',
      { productType: { filterType: 'set', values: ['0', '5'] } },
      { productType: [0, 5] },
    ],
    ['words', 'us', { title: { filterType: 'text', type: 'contains', filter: 'pump' } }, { title: 'pump' }],
  ])('is accepted as the address of the page: %s', (_, country, filters, selection) => {
    expect(productFinder.params.parse({ country, selection: page(filters) })).toMatchObject({ selection });
  });

  test('keeps the order of the page, and parameters alongside win', () => {
    const filters = { SALES_current: number('lessThanOrEqual', 9) };
    const text = page(filters, [{ colId: 'AMAZON_deltaPercent90', sort: 'desc' }]);
    expect(
      productFinder.params.parse({ domain: 1, selection: text, perPage: 200, current_SALES_lte: 7 }),
    ).toMatchObject({
      sort: [['deltaPercent90_AMAZON', 'desc']],
      perPage: 200,
      selection: { current_SALES_lte: 7 },
    });
  });

  test.each<[string, unknown, Record<string, string>]>([
    ['a text without a query', 'garlic press', { selection: expect.stringContaining('must be a query') }],
    [
      'an address without a selection',
      'https://keepa.com/',
      { selection: expect.stringContaining('no selection') },
    ],
    ['broken JSON', '{"title": ', { selection: 'is not valid JSON' }],
    ['a broken address', 'https://keepa.com/#!finder/%E0%A4%A', { selection: 'is not a valid address' }],
    ['a list', 'https://x.test/?selection=[1]', { selection: expect.stringContaining('must be a query') }],
    [
      'an unknown field, with the nearest name',
      '{"curent_SALES_lte": 5}',
      { 'selection.curent_SALES_lte': 'is not a field of the selection; did you mean current_SALES_lte?' },
    ],
    [
      'a filter of the page whose meaning is not known',
      page({
        srAvgMonth: { filterType: 'text', type: 'equals', filter: '202601' },
        title: names('x', 'isNoneOf'),
      }),
      { 'selection.title': expect.stringContaining('paste the query that the page shows') },
    ],
    [
      'a time of the page',
      page({ lastPriceChange: number('greaterThanOrEqual', 3) }),
      { 'selection.lastPriceChange': expect.stringContaining('cannot be converted') },
    ],
    [
      'a length of the page, whose unit is another one',
      page({ packageLength: number('lessThanOrEqual', 30) }),
      { 'selection.packageLength': expect.stringContaining('cannot be converted') },
    ],
    [
      'an address for another site',
      shown.replace('domain=1', 'domain=2'),
      { selection: 'is a query for the site 2, but the call is for 1 (us)' },
    ],
    ['too deep JSON', `{"a":${'['.repeat(30)}`, { selection: expect.stringContaining('nested more than') }],
  ])('is refused by name: %s', (_, selection, expected) => {
    expect(problems({ selection })).toEqual(expected);
  });
});
