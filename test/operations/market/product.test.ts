import { describe, expect, test } from 'vitest';
import { maxAgeMs, type QueuedOperation, shownInput } from '../../../src/operations/define.ts';
import { product } from '../../../src/operations/market/product.ts';
import { SUMMARY_HAS_NO_HISTORY } from '../../../src/operations/products/detail-level.ts';
import { asins, canonical, faultsOf, withValue } from '../../support/parameters.ts';

const NEEDED = { domain: 1, asins: 'B000000001' };
const read = (sent: object = {}) => canonical(product, { ...NEEDED, ...sent });
const faults = (sent: object) => faultsOf(product, { ...NEEDED, ...sent });
const untyped = product as QueuedOperation;

describe('parameters of a product look-up', () => {
  test.each([
    ['stats', 'must be an integer of at least 1', [0, -1]],
    ['update', 'must be an integer of at least 0', [-1, -24]],
    ['offers', 'must be an integer from 0 to 100', [-1, 101, 1000]],
    ['days', 'must be an integer of at least 1', [0, -7]],
  ])('refuse %s outside its bounds or without an integer: it %s', (name, problem, outside) => {
    const bad = [
      ...outside,
      ...outside.map(String),
      1.5,
      '1.5',
      'x',
      '',
      null,
      true,
      {},
      2 ** 53,
      '9'.repeat(17),
      1e300,
    ];
    for (const value of bad)
      expect(faults({ [name]: value }), JSON.stringify(value)).toEqual({ [name]: withValue(problem) });
  });

  test.each(['history', 'rating', 'buybox', 'stock'] as const)('take 0, 1, true and false for %s', (name) => {
    for (const on of [1, '1', true, 'true', 'TRUE', ' 1 ']) expect(read({ [name]: on })[name]).toBe(true);
    for (const off of [0, '0', false, 'false', 'False']) expect(read({ [name]: off })[name]).toBe(false);
    for (const bad of [2, -1, '2', 'yes', 'on', '', null, {}, 'truee']) {
      expect(faults({ [name]: bad })).toEqual({ [name]: withValue('must be 0, 1, true or false') });
    }
  });

  test.each(['Full', 'medium', '', 1, null, {}])('refuse detailLevel %j, and list levels', (detailLevel) => {
    expect(faults({ detailLevel })).toEqual({ detailLevel: withValue('must be one of summary, lite, full') });
  });

  test('request the rating at summary, unless rating=0 is sent', () => {
    expect(read({ detailLevel: 'summary' }).rating).toBe(true);
    expect(read({ detailLevel: 'summary', rating: 0 }).rating).toBe(false);
    for (const detailLevel of ['lite', 'full']) {
      expect(read({ detailLevel }).rating).toBe(false);
      expect(read({ detailLevel, rating: 1 }).rating).toBe(true);
    }
  });

  test('are refused if they request history at summary, which has none', () => {
    expect(faults({ detailLevel: 'summary', days: 7 })).toEqual({ days: SUMMARY_HAS_NO_HISTORY });
    const dateRange = { start: 1, end: 2 };
    expect(faults({ detailLevel: 'summary', dateRange })).toEqual({ dateRange: SUMMARY_HAS_NO_HISTORY });
    for (const detailLevel of ['lite', 'full']) expect(faults({ detailLevel, days: 7 })).toEqual({});
  });

  test.each([undefined, null, [], 'text', 7, [1]])('are refused together for a body of %j', (body) => {
    expect(Object.keys(faultsOf(product, body))).toEqual(['body']);
  });
});

describe('a product look-up', () => {
  test('costs one unit for each distinct ASIN with any options', () => {
    expect(product.price.quote(read({ asins: asins(100) }))).toBe(100);
    expect(product.price.quote(read({ asins: 'B000000001,b000000001' }))).toBe(1);
    const extras = { offers: 100, rating: 1, buybox: 1, stock: 1, update: 0, days: 1, detailLevel: 'full' };
    expect(product.price.quote(read({ asins: asins(3), ...extras }))).toBe(3);
  });

  test('accepts answers up to one hour old, up to update hours old, and none with update=0', () => {
    const ages = [{}, { update: 24 }, { update: 1 }, { update: 0 }].map((sent) =>
      maxAgeMs(untyped, read(sent)),
    );
    expect(ages).toEqual([3_600_000, 3_600_000, 3_600_000, 0]);
  });

  test('has the same presentation with any update', () => {
    expect(shownInput(untyped, read({ update: 5 }))).toEqual(shownInput(untyped, read()));
    expect(shownInput(untyped, read({ days: 5 }))).not.toEqual(shownInput(untyped, read()));
  });
});
