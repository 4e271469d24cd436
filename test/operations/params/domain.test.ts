import { describe, expect, test } from 'vitest';
import { product } from '../../../src/operations/market/product.ts';
import { canonical, faultsOf, withValue } from '../../support/parameters.ts';

const SITES = [
  [1, 'us'],
  [2, 'uk'],
  [3, 'de'],
  [4, 'fr'],
  [5, 'jp'],
  [6, 'ca'],
  [8, 'it'],
  [9, 'es'],
  [10, 'in'],
  [11, 'mx'],
  [12, 'br'],
] as const;

const read = (site: object) => canonical(product, { asins: 'B000000001', ...site }).domain;
const faults = (site: object) => faultsOf(product, { asins: 'B000000001', ...site });

describe('the site of a call', () => {
  test.each(SITES)('reads %i as %s, under each name of the parameter', (number, code) => {
    const text = String(number);
    expect(
      [
        { domain: number },
        { domain: text },
        { domainId: number },
        { domainId: text },
        { country: code },
        { country: code.toUpperCase() },
        { domain: text, domainId: number, country: code },
      ].map(read),
    ).toEqual(Array(7).fill(number));
  });

  test.each([0, 7, 13, -1, 1.5, '7', '0', '13', 'us', '', ' ', '1e0', null, true, {}])(
    'refuses domain %j, and lists the allowed numbers',
    (domain) => {
      expect(faults({ domain })).toEqual({
        domain: withValue('must be one of 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12'),
      });
    },
  );

  test.each(['cn', 'gb', 'usa', '1', '', 1, null, 'constructor'])(
    'refuses country %j, and lists the allowed codes',
    (country) => {
      expect(faults({ country })).toEqual({
        domain: withValue('country must be one of us, uk, de, fr, jp, ca, it, es, in, mx, br'),
      });
    },
  );

  test('refuses a request without a site, and lists the names of the parameter', () => {
    expect(faults({}).domain).toMatch(/^is required: domain or domainId \(one of 1, .*\) or country \(/);
  });

  test.each([
    [{ domain: 1, domainId: 2 }, 'domain=1 and domainId=2 do not agree'],
    [{ domain: 1, country: 'uk' }, 'domain=1 and country=uk do not agree'],
    [{ domain: '5', domainId: '5', country: 'de' }, 'domain=5 and domainId=5 and country=de do not agree'],
  ])('refuses %j, which name different sites', (site, problem) => {
    const [fault = ''] = Object.values(faults(site));
    expect(fault.replace('domainid', 'domainId')).toBe(problem);
  });

  test('refuses an invalid value alongside a valid one', () => {
    expect(faults({ domain: 1, country: 'xx' })).toHaveProperty('domain');
    expect(faults({ domain: 7, country: 'us' })).toHaveProperty('domain');
  });

  test('refuses a name that is given twice, also with the same value', () => {
    expect(faults({ domain: ['1', '1'] }).domain).toBe('was given more than once');
    expect(faults({ country: ['us', 'us'] }).domain).toBe('country was given more than once');
  });
});
