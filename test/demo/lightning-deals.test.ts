import { expect } from 'vitest';
import { z } from 'zod';
import { type Demo, openDemo } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';

test.override('demoSettings', { DEMO_LIGHTNING_DEALS: '1500' });

const whole = z.int();
const deal = z.strictObject({
  domainId: z.literal(1),
  lastUpdate: whole,
  asin: z.string().regex(/^[A-Z0-9]{10}$/),
  title: z.string().min(1),
  sellerId: z.string(),
  sellerName: z.string(),
  dealId: z.string(),
  dealPrice: whole,
  currentPrice: whole,
  image: z.string(),
  isPrimeEligible: z.boolean(),
  isFulfilledByAmazon: z.boolean(),
  isMAP: z.boolean(),
  rating: z.int().min(0).max(50),
  totalReviews: whole,
  dealState: z.enum('AVAILABLE WAITLIST SOLDOUT WAITLISTFULL EXPIRED SUPPRESSED UPCOMING'.split(' ')),
  startTime: whole,
  endTime: whole,
  percentClaimed: z.int().min(0).max(100),
  percentOff: z.int().min(1).max(99),
  variation: z.array(z.strictObject({ dimension: z.string(), value: z.string() })),
});
type Deal = z.output<typeof deal>;

const list = async (demo: Demo, params: Record<string, string> = {}): Promise<Deal[]> =>
  (await demo.get('lightningdeal', { domain: 1, ...params })).json.lightningDeals;

test('returns more than 10 MB of deals of the documented shape for a site', async ({ demo }) => {
  const standard = await openDemo();
  const { bytes, json } = await standard.get('lightningdeal', { domain: 1 });
  await standard.close();
  expect(bytes.length).toBeGreaterThan(10_000_000);
  expect(bytes.length).toBeLessThan(20_000_000);
  const deals: Deal[] = json.lightningDeals;
  for (const found of deals.filter((_, i) => i % 10 === 0)) {
    const parsed = deal.safeParse(found);
    if (!parsed.success) throw new Error(`${parsed.error.message} in ${JSON.stringify(found)}`);
  }
  expect(new Set(deals.map(({ asin }) => asin)).size).toBe(deals.length);
  const now = demo.clock.now() / 60_000 - 21_564_000;
  const ended = deals.filter(({ endTime }) => endTime <= now);
  const upcoming = deals.filter(({ startTime }) => startTime > now);
  expect(Math.min(...ended.map(({ startTime }) => startTime))).toBeGreaterThan(now - 4 * 1440);
  expect(ended.length).toBeGreaterThan(0);
  expect(upcoming.length).toBeGreaterThan(0);
  for (const { dealPrice, percentClaimed } of upcoming) expect([dealPrice, percentClaimed]).toEqual([-1, 0]);
  for (const { dealState } of ended) expect(['EXPIRED', 'SUPPRESSED']).toContain(dealState);
});

test('returns the same deal for an ASIN as in the list of its site', async ({ demo }) => {
  const all = await list(demo);
  const some = [all[0], all[1_000], all.at(-1)];
  for (const found of some) {
    const single = await list(demo, { asin: found?.asin ?? '' });
    expect(single.length === 0 || single[0]).toEqual(single.length === 0 || found);
  }
});

test('returns an empty list for an ASIN without a deal', async ({ demo }) => {
  const asins = Array.from({ length: 40 }, (_, i) => `B0AA11BB${i + 10}`);
  const counts = await Promise.all(asins.map(async (asin) => (await list(demo, { asin })).length));
  expect(new Set(counts)).toEqual(new Set([0, 1]));
});

test.for(['AVAILABLE', 'WAITLIST', 'SOLDOUT', 'WAITLISTFULL', 'EXPIRED', 'SUPPRESSED'])(
  'returns all deals in state %s',
  async (state, { demo }) => {
    const wanted = (await list(demo)).filter(({ dealState }) => dealState === state);
    expect(wanted.length).toBeGreaterThan(0);
    expect(await list(demo, { state })).toEqual(wanted);
  },
);

test('an empty ASIN requests the whole site, at its price', async ({ demo }) => {
  const { json } = await demo.get('lightningdeal', { domain: 1, asin: '' });
  expect(json.tokensConsumed).toBe(500);
  expect(json.lightningDeals.length).toBe(1500);
});

test('the list changes every ten minutes', async ({ demo }) => {
  const [first] = await list(demo);
  demo.clock.advance(9 * 60_000);
  expect((await list(demo))[0]).toEqual(first);
  demo.clock.advance(60_000);
  expect((await list(demo))[0]?.lastUpdate).toBe((first?.lastUpdate ?? 0) + 10);
});
