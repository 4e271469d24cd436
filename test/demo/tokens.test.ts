import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Demo, openDemo } from '../support/demo-provider.ts';

const MINUTE = 60_000;
const ASIN = 'B0AA11BB22';

let demo: Demo;
const left = async () => (await demo.get('token')).json.tokensLeft;

beforeEach(async () => {
  demo = await openDemo({ DEMO_TOKENS_PER_MINUTE: '5', DEMO_LIGHTNING_DEALS: '20' });
});
afterEach(() => demo.close());

test('the bucket begins with an hour of refill', async () => {
  expect((await demo.get('token')).json).toMatchObject({
    tokensLeft: 300,
    refillRate: 5,
    refillIn: MINUTE,
    tokensConsumed: 0,
  });
});

test.each<[string, Record<string, string | number>, number]>([
  ['token', {}, 0],
  ['product', { domain: 1, asin: ASIN }, 1],
  ['product', { domain: 1, asin: `${ASIN},${ASIN}` }, 1],
  ['product', { domain: 1, asin: `${ASIN},B0CC11BB22,B0DD11BB22` }, 3],
  ['product', { domain: 1, asin: `${ASIN},ZZ00000001,ZX00000001` }, 1],
  ['product', { domain: 1, asin: ASIN, stats: 30, days: 10, history: 0 }, 1],
  ['product', { domain: 1, asin: ASIN, buybox: 1 }, 3],
  ['product', { domain: 1, asin: ASIN, buybox: 1, rating: 1 }, 4],
  ['product', { domain: 1, asin: ASIN, update: 0 }, 2],
  ['search', { domain: 1, type: 'product', term: 'tent', page: 0 }, 10],
  ['search', { domain: 1, type: 'product', term: 'tent' }, 40],
  ['search', { domain: 1, type: 'category', term: 'tent' }, 1],
  ['category', { domain: 1, category: '101010,101020' }, 1],
  ['bestsellers', { domain: 1, category: 101_010 }, 50],
  ['bestsellers', { domain: 1, category: 7 }, 0],
  ['seller', { domain: 1, seller: 'ATVPDKIKX0DER' }, 1],
  ['seller', { domain: 1, seller: 'ATVPDKIKX0DER,A00000000000' }, 1],
  ['seller', { domain: 1, seller: 'A00000000000' }, 0],
  ['seller', { domain: 1, seller: 'ATVPDKIKX0DER', storefront: 1 }, 10],
  ['topseller', { domain: 1 }, 50],
  ['deal', { selection: '{"domainId":1,"priceTypes":[0]}' }, 5],
  ['query', { domain: 1, selection: '{"title":"tent"}' }, 11],
  ['query', { domain: 1, selection: '{"title":"tent"}', stats: 1 }, 41],
  ['lightningdeal', { domain: 1, asin: ASIN }, 1],
])('a call of %s with %j costs %i', async (path, params, cost) => {
  const { json } = await demo.get(path, params);
  expect(json).toMatchObject({ tokensConsumed: cost, tokensLeft: 300 - cost });
  expect(await left()).toBe(300 - cost);
});

test('a call with offers costs six tokens for each page of ten offers', async () => {
  const { json } = await demo.get('product', { domain: 1, asin: ASIN, offers: 20, buybox: 1 });
  const [{ offers }] = json.products;
  expect(json.tokensConsumed).toBe(6 * Math.ceil(offers.length / 10));
});

test('a picture costs one token, and none again within 90 minutes', async () => {
  const draw = () => demo.get('graphimage', { domain: 1, asin: ASIN });
  await draw();
  expect(await left()).toBe(299);
  await draw();
  expect(await left()).toBe(299);
  demo.clock.advance(90 * MINUTE);
  await draw();
  expect(await left()).toBe(299);
});

test('the bucket is refilled every minute, up to its capacity', async () => {
  await demo.get('topseller', { domain: 1 });
  demo.clock.advance(MINUTE - 1);
  expect((await demo.get('token')).json).toMatchObject({ tokensLeft: 250, refillIn: 1 });
  demo.clock.advance(1);
  expect((await demo.get('token')).json).toMatchObject({ tokensLeft: 255, refillIn: MINUTE });
  demo.clock.advance(5 * MINUTE + 20_000);
  expect((await demo.get('token')).json).toMatchObject({ tokensLeft: 280, refillIn: 40_000 });
  demo.clock.advance(600 * MINUTE);
  expect(await left()).toBe(300);
});

test('a call may overdraw the bucket, and later calls are refused until it is refilled', async () => {
  expect((await demo.get('lightningdeal', { domain: 1 })).json.tokensLeft).toBe(-200);
  demo.clock.advance(20_000);
  const refused = await demo.get('product', { domain: 1, asin: ASIN });
  expect(refused.status).toBe(429);
  expect(refused.json).toMatchObject({
    tokensLeft: -200,
    tokensConsumed: 0,
    refillIn: 40_000,
    refillRate: 5,
    error: { type: expect.any(String), message: expect.any(String) },
  });
  expect(refused.json).not.toHaveProperty('products');
  expect((await demo.get('graphimage', { domain: 1, asin: ASIN })).status).toBe(429);
  // Forty ticks bring the balance to zero, which is not enough.
  demo.clock.advance(40_000 + 39 * MINUTE);
  expect(await left()).toBe(0);
  expect((await demo.get('product', { domain: 1, asin: ASIN })).status).toBe(429);
  demo.clock.advance(MINUTE);
  expect((await demo.get('product', { domain: 1, asin: ASIN })).status).toBe(200);
  expect(await left()).toBe(4);
});

test('the state of an empty bucket can be read', async () => {
  await demo.get('lightningdeal', { domain: 1 });
  expect(await demo.get('token')).toMatchObject({ status: 200, json: { tokensLeft: -200 } });
});
