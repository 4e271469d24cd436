import { describe, expect, test } from 'vitest';
import { chartUrl } from '../../../src/operations/market/chart.ts';
import { asins, canonical, faultsOf } from '../../support/parameters.ts';

const read = (sent: object) => canonical(chartUrl, { domain: 1, ...sent });
const faults = (sent: object) => faultsOf(chartUrl, { domain: 1, ...sent });

describe('parameters of chart links', () => {
  test('accept asin, asins or both, and merge them in the given order without duplicates', () => {
    expect(read({ asin: 'b000000003' }).asins).toEqual(['B000000003']);
    expect(read({ asins: 'B000000002,B000000001' }).asins).toEqual(['B000000002', 'B000000001']);
    expect(read({ asin: 'B000000003', asins: ['B000000002,b000000003', 'B000000001'] }).asins).toEqual([
      'B000000003',
      'B000000002',
      'B000000001',
    ]);
  });

  test('accept at most 1000 ASINs', () => {
    expect(read({ asins: asins(1000).join() }).asins).toHaveLength(1000);
    expect(read({ asins: asins(1000).join(), asin: asins(1)[0] }).asins).toHaveLength(1000);
    expect(faults({ asins: asins(1001).join() })).toEqual({ asins: 'must be 1 to 1000 ASINs, got 1001' });
    expect(faults({ asins: asins(1000).join(), asin: 'X000000000' }).asins).toMatch(/got 1001$/);
  });

  test('require at least one ASIN', () => {
    expect(faults({}).asins).toMatch(/^is required: it must be 1 to 1000 ASINs/);
    expect(faults({ asins: ',' }).asins).toMatch(/^is empty/);
  });

  test.each(['B00000001', 'B0000000011', 'B00000000/', '../../../..'])('refuse %s as an ASIN', (asin) => {
    expect(faults({ asin }).asins).toBe(`item 1 must be 10 letters or digits, got "${asin}"`);
  });

  test('are all named if they are invalid, and ignored if they are unknown', () => {
    expect(Object.keys(faultsOf(chartUrl, { asin: '?' })).sort()).toEqual(['asins', 'domain']);
    expect(read({ asin: 'B000000001', page: 'x' })).toEqual({ domain: 1, asins: ['B000000001'] });
  });
});
