import { describe, expect, test } from 'vitest';
import { product } from '../../../src/operations/market/product.ts';
import { canonical, faultsOf } from '../../support/parameters.ts';

const read = (sent: object) => canonical(product, { domain: 1, ...sent });
const faults = (sent: object) => faultsOf(product, { domain: 1, ...sent });

describe('codes of a product look-up', () => {
  test.each([
    ['UPC', '036000291452', '036000291452'],
    ['EAN of 13 digits', '4006381333931', '4006381333931'],
    ['EAN of 8 digits', '73513537', '73513537'],
    ['ISBN of 13 digits', '978-0-306-40615-7', '9780306406157'],
    ['ISBN of 10 digits', '0-306-40615-2', '9780306406157'],
    ['ISBN with the check digit X', '080442957x', '9780804429573'],
  ])('may be a %s', (_, code, canonicalCode) => {
    expect(read({ code })).toEqual(read({ codes: [canonicalCode] }));
    expect(read({ code }).codes).toEqual([canonicalCode]);
  });

  test.each([
    ['4006381333930', 'item 1 must end with the check digit 1, got "4006381333930"'],
    ['036000291452,036000291453', 'item 2 must end with the check digit 2, got "036000291453"'],
    ['0306406153', 'item 1 must end with the check digit 2, got "0306406153"'],
    [
      'B08N5WRWNX',
      'item 1 must be a UPC (12 digits), an EAN (8 or 13 digits) or an ISBN (10 or 13 digits), got "B08N5WRWNX"',
    ],
    [
      '40063813339',
      'item 1 must be a UPC (12 digits), an EAN (8 or 13 digits) or an ISBN (10 or 13 digits), got "40063813339"',
    ],
  ])('are refused by name if one is %s', (codes, problem) => {
    expect(faults({ codes })).toEqual({ codes: problem });
  });

  test('count once and are sorted, and an ISBN of 10 digits is the same as the one of 13', () => {
    const codes = ['9780306406157', '4006381333931', '0306406152'];
    expect(read({ codes }).codes).toEqual(['4006381333931', '9780306406157']);
    expect(product.price.quote(read({ codes }))).toBe(2);
  });

  test('are refused together with ASINs, and one of the two is required', () => {
    const both = { asins: 'B000000001', codes: '4006381333931' };
    expect(faults(both)).toEqual({ codes: 'must not be sent with asins: send one of them' });
    const required =
      'is required: it must be 1 to 100 ASINs, as a list or separated by commas; or send codes';
    expect(faults({})).toEqual({ asins: required });
    expect(faults({ offers: -1 })).toMatchObject({ asins: required, offers: expect.anything() });
  });

  test('have a source for each code, apart from the sources of ASINs', () => {
    const codes = read({ codes: ['036000291452', '4006381333931'] });
    const identities = product.source(codes).map(({ identity }) => identity);
    expect(product.source(codes).map(({ key }) => key)).toEqual(codes.codes);
    expect(product.source(read({ code: '036000291452', days: 7 }))[0]?.identity).toBe(identities[0]);
    expect(product.source(read({ code: '036000291452', offers: 20 }))[0]?.identity).not.toBe(identities[0]);
  });
});
