import { describe, expect, test } from 'vitest';
import { graphImage } from '../../../src/operations/market/chart.ts';
import { canonical, faultsOf, withValue } from '../../support/parameters.ts';

const read = (sent: object = {}) => canonical(graphImage, { domain: 1, asin: 'B000000001', ...sent });
const faults = (sent: object) => faultsOf(graphImage, { domain: 1, asin: 'B000000001', ...sent });

const CURVES = ['retailer', 'new', 'used', 'salesrank', 'bb', 'fba', 'fbm', 'ld', 'wd'] as const;
const COLOURS = [
  ...(['cbackground', 'cfont', 'cretailer', 'cnew', 'cused', 'csales'] as const),
  ...(['cfba', 'cfbm', 'cbb', 'cld', 'cwd'] as const),
];

describe('parameters of a price-history picture', () => {
  test('have defaults: 90 days, 500 by 200 pixels, and the default curves of the provider', () => {
    const off = Object.fromEntries(CURVES.map((name) => [name, false]));
    expect(read()).toEqual({
      domain: 1,
      asin: 'B000000001',
      range: 90,
      width: 500,
      height: 200,
      yzoom: true,
      ...off,
      retailer: true,
      new: true,
    });
  });

  test.each([...CURVES, 'yzoom'] as const)('accept 0 or 1 for %s', (name) => {
    expect(['1', 1, 'true'].map((on) => read({ [name]: on })[name])).toEqual([true, true, true]);
    expect(['0', 0, 'false'].map((off) => read({ [name]: off })[name])).toEqual([false, false, false]);
    expect(faults({ [name]: '2' })).toEqual({ [name]: withValue('must be 0, 1, true or false') });
  });

  test.each(COLOURS)('accept six hexadecimal digits for %s', (name) => {
    expect(read({ [name]: '#FF8800' })[name]).toBe('ff8800');
    expect(read({ [name]: '00aa00' })[name]).toBe('00aa00');
    for (const bad of ['red', 'fff', 'ff88000', 'gg0000', '', '##ff8800', 7]) {
      expect(faults({ [name]: bad })).toEqual({ [name]: withValue('must be 6 hex digits such as ff8800') });
    }
  });

  test('limit the size to the smallest and largest of the provider', () => {
    expect(read({ width: 1, height: 1 })).toMatchObject({ width: 300, height: 150 });
    expect(read({ width: 299, height: 149 })).toMatchObject({ width: 300, height: 150 });
    expect(read({ width: 1001, height: 100_000 })).toMatchObject({ width: 1000, height: 1000 });
  });

  test('refuse a range of 0 days and sizes of 0 pixels', () => {
    expect(faults({ range: 0, width: 0, height: -5 })).toEqual({
      range: withValue('must be an integer from 1 to 10000'),
      width: withValue('must be an integer of at least 1'),
      height: withValue('must be an integer of at least 1'),
    });
    expect(faults({ range: 10_001 })).toHaveProperty('range');
  });
});

describe('a call for a picture', () => {
  test('has the same source in any spelling, and another one for other parameters', () => {
    const identity = (sent: object) => graphImage.source(read(sent))[0]?.identity;
    expect(identity({ Retailer: 'true', used: 0, cFont: undefined, width: '500' })).toBe(identity({}));
    expect(identity({ CFONT: '#00FF00' })).toBe(identity({ cfont: '00ff00' }));
    const others = [
      {},
      { domain: 2 },
      { asin: 'B000000002' },
      { range: 7 },
      { width: 501 },
      { height: 201 },
      { yzoom: 0 },
      ...CURVES.map((name) => ({ [name]: !['retailer', 'new'].includes(name) })),
      ...COLOURS.map((name) => ({ [name]: '123456' })),
    ].map(identity);
    expect(new Set(others).size).toBe(others.length);
  });
});
