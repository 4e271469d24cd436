import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { product } from '../../../src/operations/market/product.ts';
import { asins, canonical, faultsOf } from '../../support/parameters.ts';

const read = (sent: object) => canonical(product, { domain: 1, ...sent }).asins;
const fault = (sent: object) => faultsOf(product, { domain: 1, ...sent }).asins;

describe('ASINs of a product look-up', () => {
  test.each([
    ['separated by commas', { asins: 'B000000001,B000000002' }],
    ['repeated', { asins: ['B000000001', 'B000000002'] }],
    ['repeated and separated by commas', { asins: ['B000000001,B000000002', 'B000000002'] }],
    ['under the alias of the parameter', { asin: 'B000000001,B000000002' }],
    ['under both names', { asin: 'B000000001', asins: ['B000000002'] }],
    ['in lower case', { asins: 'b000000002,b000000001' }],
    ['with spaces and empty items', { asins: ' B000000001 ,, B000000002,' }],
  ])('are accepted %s', (_, sent) => {
    expect(read(sent)).toEqual(['B000000001', 'B000000002']);
  });

  test('may be a single ASIN', () => {
    expect(read({ asin: '0123456789' })).toEqual(['0123456789']);
  });

  test('have the same canonical input in any order, case and number of repetitions', () => {
    const asin = fc.stringMatching(/^[A-Z0-9]{10}$/);
    const lists = fc.uniqueArray(asin, { minLength: 1, maxLength: 20 }).chain((some) => {
      const again = fc.array(
        fc.constantFrom(...some).map((item) => item.toLowerCase()),
        { maxLength: 20 },
      );
      const noisy = again.chain((more) => shuffled([...some, ...more]));
      return fc.record({ some: fc.constant(some), noisy, separated: fc.boolean() });
    });
    fc.assert(
      fc.property(lists, ({ some, noisy, separated }) => {
        expect(read({ asins: separated ? noisy.join() : noisy })).toEqual([...some].sort());
      }),
      { numRuns: 300 },
    );
  });

  test('may be 1 to 100, without counting repetitions', () => {
    expect(read({ asins: asins(100) })).toHaveLength(100);
    expect(read({ asins: [...asins(100), ...asins(100)].join() })).toHaveLength(100);
    expect(fault({ asins: asins(101) })).toBe('must be 1 to 100 ASINs, got 101');
    expect(fault({ asins: asins(60), asin: asins(101).slice(60).join() })).toMatch(/got 101$/);
  });

  test.each([
    ['not sent', {}],
    ['an empty list', { asins: [] }],
  ])('are required: %s', (_, sent) => {
    expect(fault(sent)).toMatch(/^is required: it must be 1 to 100 ASINs, as a list or separated by commas/);
  });

  test.each([{ asins: '' }, { asins: ' , ,' }, { asins: ['', ''] }])('must not be empty: %j', (sent) => {
    expect(fault(sent)).toBe('is empty: it must be 1 to 100 ASINs');
  });

  test.each(['B00000001', 'B0000000011', 'B00000000-', 'B0000 0001', 'B00000000é', 'ｂ000000001'])(
    'must have 10 letters or digits: refuses %s',
    (asin) => {
      expect(fault({ asins: `B000000001,${asin}` })).toBe(
        `item 2 must be 10 letters or digits, got "${asin}"`,
      );
    },
  );

  test.each([[[1234567890]], [null], [{}], [['B000000001', null]], [[['B000000001']]], [true]])(
    'must be texts: refuses %j',
    (sent) => {
      expect(fault({ asins: sent })).toMatch(/^item \d must be a text, got /);
    },
  );

  test('are shortened in the error message if they are long', () => {
    expect(fault({ asins: 'x'.repeat(5000) })?.length).toBeLessThan(100);
  });

  test('are refused without parsing if the list is far too long', () => {
    expect(fault({ asins: Array(20_001).fill('?') })).toBe('must be 1 to 100 ASINs, got 20001');
  });
});

function shuffled<T>(items: T[]): fc.Arbitrary<T[]> {
  return fc.shuffledSubarray(items, { minLength: items.length });
}
