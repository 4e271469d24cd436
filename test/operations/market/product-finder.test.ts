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
    ['brand', [], 'a text or a list of at most 50'],
    ['brand', Array.from({ length: 51 }, (_, i) => `b${i}`), 'a text or a list of at most 50'],
    ['categories_include', ['x'], 'an integer or a list of at most 50'],
    ['title', '', 'a text of 1 to 1000 characters'],
  ])('refuses %s = %j, and states the allowed values', (name, value, wanted) => {
    expect(problems({ [name]: value })[`selection.${name}`]).toContain(`must be ${wanted}`);
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
