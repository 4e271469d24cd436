import { describe, expect, test } from 'vitest';
import { type LightningDeal, lightningDeal } from '../../../src/operations/market/lightning-deal.ts';
import { POOLS } from '../../../src/operations/pools.ts';
import { toKeepaMinutes } from '../../../src/operations/products/history.ts';
import { canonical, faultsOf, withValue } from '../../support/parameters.ts';

const read = (sent: object = {}) => canonical(lightningDeal, { domain: 2, ...sent });
const faults = (sent: object) => faultsOf(lightningDeal, { domain: 2, ...sent });

const STATES = ['AVAILABLE', 'UPCOMING', 'WAITLIST', 'SUSPENDED', 'CANCELED', 'EXPIRED', 'SOLDOUT'];

describe('parameters of lightning deals', () => {
  test('require only the site', () => {
    expect(read()).toEqual({ domain: 2 });
  });

  test('convert the ASIN to upper case', () => {
    expect(read({ asin: ' b00000000a ' }).asin).toBe('B00000000A');
  });

  test.each([
    '',
    ' ',
    'B00000001',
    'B0000000011',
    'B00000000-',
    'B000000001,B000000002',
    1234567890,
    null,
    {},
  ])('refuse %j as an ASIN instead of reading the whole site', (asin) => {
    expect(faults({ asin }).asin).toMatch(/must be one ASIN \(10 letters or digits\), got /);
  });

  test('refuse two ASINs', () => {
    expect(faults({ asin: ['B000000001', 'B000000001'] }).asin).toMatch(/^was given more than once/);
  });

  test.each(STATES)('accept the state %s', (state) => {
    expect(read({ state }).state).toBe(state);
  });

  test.each(['available', 'SUPPRESSED', 'CANCELLED', '', 1])(
    'refuse the state %j, and list the states',
    (state) => {
      expect(faults({ state })).toEqual({ state: withValue(`must be one of ${STATES.join(', ')}`) });
    },
  );

  test.each(['BEST_DEAL', '', 5])('refuse the type %j, because the provider names none', (type) => {
    expect(faults({ type })).toEqual({
      type: 'must not be sent: the provider does not name the type of a deal',
    });
  });

  test('are all named if they are invalid', () => {
    const found = faultsOf(lightningDeal, { domain: 0, asin: 'x', state: 'x', type: '' });
    expect(Object.keys(found).sort()).toEqual(['asin', 'domain', 'state', 'type']);
  });

  test('are ignored if they are unknown', () => {
    expect(read({ page: 'x', asins: '?', states: 1 })).toEqual(read());
  });
});

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

  test('is an empty list if upstream has no data', () => {
    const { respond } = lightningDeal;
    const found = respond.type === 'json' && respond.present(new Map(), read(), { now: NOW });
    expect(found).toMatchObject({ data: { lightningDeals: [] } });
  });
});
