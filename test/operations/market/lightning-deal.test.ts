import { describe, expect, test } from 'vitest';
import { type LightningDeal, lightningDeal } from '../../../src/operations/market/lightning-deal.ts';
import { POOLS } from '../../../src/operations/pools.ts';
import { toKeepaMinutes } from '../../../src/operations/products/history.ts';
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

const NOW = Date.parse('2026-03-04T10:00:00Z');
const [past, future] = [toKeepaMinutes(NOW) - 60, toKeepaMinutes(NOW) + 60];

const DEALS: LightningDeal[] = [
  { asin: 'B000000001', dealState: 'AVAILABLE', startTime: past },
  { asin: 'B000000002', dealState: 'AVAILABLE', startTime: future, dealPrice: -1 },
  { asin: 'B000000003', dealState: 'WAITLIST', startTime: past },
  { asin: 'B000000004', dealState: 'SUPPRESSED', startTime: future },
  { asin: 'B000000005', dealState: 'EXPIRED', startTime: past },
  { asin: 'B000000006', dealState: 'WAITLISTFULL', startTime: past },
  { asin: 'B000000007', dealState: 'SOLDOUT', startTime: past },
  { asin: 'B000000008', startTime: future },
  { asin: 'B000000009', dealState: 'CANCELLED', startTime: future },
  { asin: 'B000000010', dealState: 'UPCOMING' },
  { asin: 'B000000011' },
  { asin: 'B000000012', dealState: 'WAITLIST', startTime: future },
];

function answer(sent: object, deals: LightningDeal[] | undefined = DEALS): Record<string, unknown> {
  const { respond } = lightningDeal;
  if (respond.type !== 'json') throw new Error('deals are JSON');
  return respond.present(new Map(deals && [['', deals]]), read(sent), { now: NOW }).data;
}

function shown(sent: object): number[] {
  return (answer(sent).lightningDeals as LightningDeal[]).map(({ asin }) => Number(asin.slice(1)));
}

describe('the answer for lightning deals', () => {
  test('is the whole list in order, with unchanged deals except for renamed states', () => {
    const renamed: Record<number, string> = {
      2: 'UPCOMING',
      4: 'SUSPENDED',
      6: 'WAITLIST',
      8: 'UPCOMING',
      9: 'CANCELED',
      12: 'UPCOMING',
    };
    const expected = DEALS.map((deal, i) => {
      const dealState = renamed[i + 1];
      return dealState ? { ...deal, dealState } : deal;
    });
    expect(answer({})).toEqual({ country: 'uk', domainId: 2, lightningDeals: expected });
  });

  test.each([
    ['AVAILABLE', [1]],
    ['UPCOMING', [2, 8, 10, 12]],
    ['WAITLIST', [3, 6]],
    ['SUSPENDED', [4]],
    ['CANCELED', [9]],
    ['EXPIRED', [5]],
    ['SOLDOUT', [7]],
  ])('of state %s has the deals of this state, under any name of the provider', (state, expected) => {
    expect(shown({ state })).toEqual(expected);
  });

  test('of an ASIN has only the deals of this ASIN', () => {
    expect(shown({ asin: 'B000000007' })).toEqual([7]);
    expect(shown({ asin: 'B000000099' })).toEqual([]);
  });
});
