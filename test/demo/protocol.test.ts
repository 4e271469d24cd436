import { gunzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { readDemoSettings } from '../../demo/settings.ts';
import { DEMO_KEY } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';

test.override('demoSettings', { DEMO_LIGHTNING_DEALS: '50' });

const ENVELOPE = {
  timestamp: expect.any(Number),
  tokensLeft: expect.any(Number),
  refillIn: expect.any(Number),
  refillRate: 600,
  tokenFlowReduction: 0,
  tokensConsumed: expect.any(Number),
  processingTimeInMs: expect.any(Number),
};

/** A good call of every endpoint that answers with JSON, and the payload keys it must have. */
const CALLS: [path: string, params: Record<string, string | number>, payload: string[]][] = [
  ['token', {}, []],
  ['product', { domain: 1, asin: 'B0AA11BB22' }, ['products']],
  ['search', { domain: 1, type: 'product', term: 'tent' }, ['products']],
  ['search', { domain: 1, type: 'category', term: 'tent' }, ['categories']],
  ['category', { domain: 1, category: 0 }, ['categories']],
  ['category', { domain: 1, category: 101_010, parents: 1 }, ['categories', 'categoryParents']],
  ['bestsellers', { domain: 1, category: 101_010 }, ['bestSellersList']],
  ['seller', { domain: 1, seller: 'ATVPDKIKX0DER' }, ['sellers']],
  ['topseller', { domain: 1 }, ['sellerIdList']],
  ['deal', { selection: '{"domainId":1,"priceTypes":[0]}' }, ['dealsCached', 'deals']],
  [
    'query',
    { domain: 1, selection: '{"title":"tent"}', stats: 1 },
    ['asinList', 'totalResults', 'searchInsights'],
  ],
  ['lightningdeal', { domain: 1 }, ['lightningDeals']],
];

test.for(CALLS)('%s %j returns the envelope and its payload', async ([path, params, payload], { demo }) => {
  const { status, json, headers } = await demo.get(path, params);
  expect(status).toBe(200);
  expect(headers['content-type']).toMatch(/^application\/json/);
  const { timestamp, ...rest } = json;
  expect(timestamp).toBe(demo.clock.now());
  expect(json).toMatchObject(ENVELOPE);
  expect(Object.keys(rest).sort()).toEqual(
    [...Object.keys(ENVELOPE).filter((name) => name !== 'timestamp'), ...payload].sort(),
  );
});

test('ignores a trailing slash', async ({ demo }) => {
  const { status, json } = await demo.raw(`/product/?key=${DEMO_KEY}&domain=1&asin=B0AA11BB22`);
  expect([status, json.products.length]).toEqual([200, 1]);
});

test('compresses only for clients that accept gzip', async ({ demo }) => {
  const path = `/product?key=${DEMO_KEY}&domain=1&asin=B0AA11BB22`;
  const plain = await demo.raw(path);
  const packed = await demo.raw(path, { headers: { 'accept-encoding': 'gzip' } });
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(packed.headers['content-encoding']).toBe('gzip');
  expect(JSON.parse(gunzipSync(packed.bytes).toString()).products).toEqual(plain.json.products);
});

test.for([
  ['no key', '/product?domain=1&asin=B0AA11BB22'],
  ['an empty key', '/product?key=&domain=1&asin=B0AA11BB22'],
  ['a short key', '/token?key=too-short'],
  ['two keys that are too short', '/token?key=too-short&key=short-too'],
] as const)('has the error of a bad parameter and an empty bucket for %s', async ([_, path], { demo }) => {
  const { status, json } = await demo.raw(path);
  expect(status).toBe(400);
  expect(json).toMatchObject({ tokensLeft: 0, refillRate: 0, refillIn: 0, tokensConsumed: 0 });
  expect(json.error).toMatchObject({ type: 'invalidParameter', message: expect.any(String), details: '' });
});

test('returns 402 for a key that has not paid', async ({ demo }) => {
  expect((await demo.raw('/token?key=unpaid-key-unpaid-key')).status).toBe(402);
});

describe('refuses and charges nothing:', () => {
  const ASIN = 'B0AA11BB22';
  const many = (n: number) =>
    Array.from({ length: n }, (_, i) => `B0AA${String(i).padStart(6, '0')}`).join(',');

  test.for<[string, Record<string, string | number>, number]>([
    ['product', { asin: ASIN }, 400],
    ['product', { domain: 7, asin: ASIN }, 400],
    ['product', { domain: 1 }, 400],
    ['product', { domain: 1, asin: '' }, 400],
    ['product', { domain: 1, asin: 'B0SHORT' }, 400],
    ['product', { domain: 1, asin: `${ASIN},b0aa11bb22` }, 400],
    ['product', { domain: 1, asin: many(101) }, 400],
    ['product', { domain: 1, asin: ASIN, code: '4000000000001' }, 400],
    ['product', { domain: 1, asin: ASIN, offers: 19 }, 405],
    ['product', { domain: 1, asin: ASIN, offers: 101 }, 405],
    ['product', { domain: 1, asin: ASIN, days: 0 }, 405],
    ['product', { domain: 1, asin: ASIN, stats: 'often' }, 400],
    ['product', { domain: 1, asin: ASIN, stats: '2026-02-01,2026-01-01' }, 400],
    ['product', { domain: 1, asin: ASIN, update: -2 }, 405],
    ['search', { domain: 1, term: 'tent' }, 400],
    ['search', { domain: 1, type: 'product' }, 400],
    ['search', { domain: 1, type: 'category', term: '   ' }, 400],
    ['search', { domain: 1, type: 'product', term: 'tent', page: 10 }, 405],
    ['category', { domain: 1 }, 400],
    ['category', { domain: 1, category: 'tents' }, 400],
    ['category', { domain: 1, category: '1,2,3,4,5,6,7,8,9,10,11' }, 400],
    ['bestsellers', { domain: 1 }, 400],
    ['bestsellers', { domain: 12, category: 101_010 }, 405],
    ['bestsellers', { domain: 1, category: 101_010, range: 31 }, 405],
    ['bestsellers', { domain: 1, category: 101_010, range: 30, sublist: 1 }, 400],
    ['seller', { domain: 1 }, 400],
    ['seller', { domain: 1, seller: 'short' }, 400],
    ['seller', { domain: 1, seller: 'ATVPDKIKX0DER,A000000000', storefront: 1 }, 400],
    ['topseller', { domain: 12 }, 405],
    ['deal', { selection: '{"domainId":1' }, 400],
    ['deal', { selection: '[]' }, 400],
    ['deal', { selection: '{"priceTypes":[0]}' }, 400],
    ['deal', { selection: '{"domainId":1,"priceTypes":[]}' }, 400],
    ['deal', { selection: '{"domainId":1,"priceTypes":[0,1]}' }, 400],
    ['deal', { selection: '{"domainId":1,"priceTypes":[4]}' }, 400],
    ['deal', { selection: '{"domainId":1,"priceTypes":[0],"page":-1}' }, 405],
    ['deal', { selection: '{"domainId":1,"priceTypes":[0],"dateRange":4}' }, 405],
    ['query', { domain: 1 }, 400],
    ['query', { domain: 1, selection: '{"perPage":50}' }, 400],
    ['query', { domain: 1, selection: '{"title":"tent","domain":1}' }, 400],
    ['query', { domain: 1, selection: '{"title":"tent","stats":1}' }, 400],
    ['query', { domain: 1, selection: '{"title":"tent","perPage":49}' }, 405],
    ['query', { domain: 1, selection: '{"title":"tent","perPage":5001,"page":1}' }, 405],
    ['query', { domain: 1, selection: '{"title":"tent","sort":[5]}' }, 400],
    ['lightningdeal', { domain: 1, state: 'SUSPENDED' }, 400],
    ['lightningdeal', { domain: 1, asin: 'nothing' }, 400],
    ['graphimage', { domain: 1 }, 400],
    ['graphimage', { domain: 1, asin: ASIN, width: 299 }, 405],
    ['graphimage', { domain: 1, asin: ASIN, height: 1001 }, 405],
    ['graphimage', { domain: 1, asin: ASIN, cFont: '#fff' }, 400],
    ['tracking', { domain: 1 }, 404],
    ['deals', { domain: 1 }, 404],
  ])('%s %j', async ([path, params, status], { demo }) => {
    const before = (await demo.get('token')).json.tokensLeft;
    const reply = await demo.get(path, params);
    expect(reply.status).toBe(status);
    expect(reply.json).toMatchObject({ ...ENVELOPE, tokensConsumed: 0, tokensLeft: before });
    expect(reply.json.error).toEqual({
      type: expect.any(String),
      message: expect.any(String),
      details: expect.any(String),
    });
  });
});

test('treats a body that is not JSON as a bad parameter', async ({ demo }) => {
  const reply = await demo.raw(`/query?key=${DEMO_KEY}&domain=1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"title":',
  });
  expect([reply.status, reply.json.error.type]).toEqual([400, 'invalidParameter']);
});

test('refuses an invalid setting, and names it', () => {
  expect(() => readDemoSettings({ DEMO_FAIL_RATE: '2', DEMO_TOKENS_PER_MINUTE: 'lots' })).toThrow(
    /^Bad setting: .*DEMO_TOKENS_PER_MINUTE.*DEMO_FAIL_RATE.*\.$/,
  );
  expect(readDemoSettings({ DEMO_TOKENS_PER_MINUTE: '' }).DEMO_TOKENS_PER_MINUTE).toBe(600);
});
