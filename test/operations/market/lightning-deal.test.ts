import { describe, expect, test } from 'vitest';
import { lightningDeal } from '../../../src/operations/market/lightning-deal.ts';
import { POOLS } from '../../../src/operations/pools.ts';
import { canonical } from '../../support/parameters.ts';

const read = (sent: object = {}) => canonical(lightningDeal, { domain: 2, ...sent });

describe('a call for lightning deals', () => {
  test('costs 1 unit and has 60 seconds for one ASIN, and 500 units and 120 seconds for a site', () => {
    const [one, all] = [read({ asin: 'B000000001' }), read({ state: 'EXPIRED' })];
    expect([one, all].map(lightningDeal.price.quote)).toEqual([1, 500]);
    expect([one, all].map(lightningDeal.queue)).toEqual(['market', 'lightning']);
    expect([one, all].map((input) => POOLS[lightningDeal.queue(input)].timeoutMs)).toEqual([60_000, 120_000]);
  });

  test('has the same source for every state', () => {
    const identity = (sent: object) => lightningDeal.source(read(sent))[0]?.identity;
    expect(identity({ state: 'EXPIRED' })).toBe(identity({}));
    const different = [{}, { domain: 3 }, { asin: 'B000000001' }, { asin: 'B000000002' }].map(identity);
    expect(new Set(different).size).toBe(4);
  });
});
