import { expect } from 'vitest';
import { lightningDeal } from '../../../src/operations/market/lightning-deal.ts';
import { POOLS } from '../../../src/operations/pools.ts';
import { toKeepaMinutes } from '../../../src/operations/products/history.ts';
import { hasDeals } from '../../support/answers.ts';
import type { Reply } from '../../support/client.ts';
import { canonical } from '../../support/parameters.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const DEALS = '/api/market/lightningdeal';

test.beforeEach(async ({ souk }) => {
  const now = toKeepaMinutes(souk.clock.now());
  const running = { startTime: now - 60, endTime: now + 60 };
  souk.upstream.on(
    'lightningdeal',
    hasDeals([
      { asin: 'B00DEAL001', dealState: 'AVAILABLE', ...running, dealPrice: 1999 },
      { asin: 'B00DEAL002', dealState: 'WAITLIST', ...running },
      { asin: 'B00DEAL003', dealState: 'SUPPRESSED', ...running },
      { asin: 'B00DEAL004', dealState: 'AVAILABLE', startTime: now + 10, endTime: now + 70 },
      { asin: 'B00DEAL005', dealState: 'SOLDOUT', ...running },
      { asin: 'B00DEAL006', dealState: 'EXPIRED', startTime: now - 120, endTime: now - 60 },
      { asin: 'B00DEAL007', dealState: 'CANCELLED', startTime: now + 10, endTime: now + 70 },
      { asin: 'B00DEAL008', dealState: 'WAITLISTFULL', ...running },
      { asin: 'B00DEAL009', startTime: now + 10, dealPrice: -1 },
      { asin: 'B00DEAL010', dealState: 'UPCOMING' },
      { asin: 'B00DEAL011' },
      { asin: 'B00DEAL012', dealState: 'WAITLIST', startTime: now + 10 },
    ]),
  );
});

const asinsOf = ({ json }: Reply) => json.data.lightningDeals.map(({ asin }: { asin: string }) => asin);

test('the deal of one ASIN costs one unit and is returned unchanged', async ({ souk, client }) => {
  const reply = await client.get(`${DEALS}?country=uk&asin=b00deal001`);
  expect(reply.headers['x-units-consumed']).toBe('1');
  expect(reply.json.data).toMatchObject({
    fromCache: false,
    lightningDeals: [{ asin: 'B00DEAL001', dealState: 'AVAILABLE', dealPrice: 1999 }],
  });
  expect(souk.upstream.calls.at(-1)?.params).toMatchObject({ domain: '2', asin: 'B00DEAL001' });
});

test('returns an empty list for an ASIN without a deal', async ({ souk, client }) => {
  expect(asinsOf(await client.get(`${DEALS}?domain=1&asin=B00NODEAL1`))).toEqual([]);
  for (const [asin, json] of [
    ['B00NODEAL2', {}],
    ['B00NODEAL3', { lightningDeals: null }],
  ] as const) {
    souk.upstream.on('lightningdeal', () => ({ json }));
    expect(asinsOf(await client.get(`${DEALS}?domain=1&asin=${asin}`))).toEqual([]);
  }
});

test('the list of a site costs 500 units, fetched once, filtered for each call', async ({ souk, client }) => {
  const before = souk.upstream.calls.length;
  const whole = await client.get(`${DEALS}?domain=3`);
  expect(whole.headers['x-units-consumed']).toBe('500');
  expect(asinsOf(whole)).toEqual(
    Array.from({ length: 12 }, (_, i) => `B00DEAL${String(i + 1).padStart(3, '0')}`),
  );
  souk.clock.advance(1);

  const filtered: [query: string, asins: string[]][] = [
    ['state=AVAILABLE', ['B00DEAL001']],
    ['state=WAITLIST', ['B00DEAL002', 'B00DEAL008']],
    ['state=SUSPENDED', ['B00DEAL003']],
    ['state=UPCOMING', ['B00DEAL004', 'B00DEAL009', 'B00DEAL010', 'B00DEAL012']],
    ['state=SOLDOUT', ['B00DEAL005']],
    ['state=EXPIRED', ['B00DEAL006']],
    ['state=CANCELED', ['B00DEAL007']],
  ];
  for (const [query, asins] of filtered) {
    const reply = await client.get(`${DEALS}?domain=3&${query}`);
    expect([query, asinsOf(reply)]).toEqual([query, asins]);
    expect([reply.json.data.fromCache, reply.headers['x-units-consumed']]).toEqual([true, '500']);
    const states = reply.json.data.lightningDeals.map(({ dealState }: { dealState: string }) => dealState);
    const state = new URLSearchParams(query).get('state');
    if (state) expect(states).toEqual(asins.map(() => state));
  }
  const asked = souk.upstream.calls.slice(before);
  expect(asked.map(({ params }) => ({ ...params, key: '' }))).toEqual([{ domain: '3', key: '' }]);
  expect(await unitsUsed(client)).toBe(500 * 8);
});

test('a call has 60 seconds for one ASIN, and 120 seconds for a site', () => {
  const inputs = [{ asin: 'B000000001' }, { state: 'EXPIRED' }].map((sent) =>
    canonical(lightningDeal, { domain: 2, ...sent }),
  );
  expect(inputs.map((input) => POOLS[lightningDeal.queue(input)].timeoutMs)).toEqual([60_000, 120_000]);
});
