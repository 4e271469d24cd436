import { expect } from 'vitest';
import { drawsPictures, hasDeals } from '../support/answers.ts';
import type { Reply } from '../support/client.ts';
import { test } from '../support/shared-souk-test.ts';
import { leapAhead } from '../support/time.ts';
import { unitsUsed } from '../support/units.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
test.beforeAll(async ({ souk }) => {
  souk.upstream.on('lightningdeal', hasDeals([{ asin: 'B00ENVELOP' }]));
  souk.upstream.on('graphimage', drawsPictures);
});

const JSON_PATHS = [
  '/api/market/product?domain=1&asins=B00ENVELOP',
  '/api/market/lightningdeal?domain=1&asin=B00ENVELOP',
  '/api/market/charturl?domain=1&asin=B00ENVELOP',
  '/api/retail/imageurl?domain=1&image=a.jpg',
  '/api/quota',
  '/api/token',
];

test.for(JSON_PATHS)('%s returns an envelope and the common headers', async (path, { souk }) => {
  const reply = await (await souk.client()).get(path);
  expect(reply.status).toBe(200);
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(reply.json).toEqual({ code: '0000', msg: expect.any(String), data: expect.any(Object) });
  expectCommonHeaders(reply);
});

test.for([...JSON_PATHS, '/api/market/graphimage?domain=1&asin=B00ENVELOP'])(
  '%s returns errors in the same envelope, with the same headers',
  async (path, { souk }) => {
    const reply = await souk.clientOf('').raw(path);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(reply.json).toEqual({ code: '4001', msg: expect.any(String), data: null });
    expectCommonHeaders(reply);
    expect(reply.headers['x-units-consumed']).toBe('0');
  },
);

function expectCommonHeaders({ headers }: Reply): void {
  expect(headers['x-response-time']).toMatch(/^\d+ms$/);
  expect(headers['x-units-consumed']).toMatch(/^\d+$/);
  expect(headers['x-request-id']).toMatch(UUID);
}

test('an answer states its units, its cache status and its job', async ({ souk }) => {
  const [client, other] = await Promise.all([souk.client(), souk.client()]);
  const path = '/api/market/product?domain=1&asins=B00ENV0001,B00ENV0002,B00ENV0003';
  const facts = ({ headers }: Reply) => [
    headers['x-units-consumed'],
    headers['x-cache'],
    headers['x-deduplicated'],
  ];

  const first = await client.get(path);
  expect(facts(first)).toEqual(['3', 'MISS', undefined]);
  expect(first.headers['x-job-id']).toMatch(UUID);
  expect(first.headers['x-request-id']).not.toBe(first.headers['x-job-id']);
  expect(first.json.data.fromCache).toBe(false);

  const joined = await client.get(path);
  expect(facts(joined)).toEqual(['0', 'HIT', 'true']);
  expect(joined.headers['x-job-id']).toBe(first.headers['x-job-id']);
  expect(joined.body).toEqual(first.body);

  const cached = await other.get(path);
  expect(facts(cached)).toEqual(['3', 'HIT', undefined]);
  expect(cached.headers['x-job-id']).not.toBe(first.headers['x-job-id']);
  expect(cached.json.data).toEqual({ ...first.json.data, fromCache: true });
  expect(await Promise.all([unitsUsed(client), unitsUsed(other)])).toEqual([3, 3]);
});

test('charged answers to an account with a minute limit state the remaining calls, and refusals the time to retry', async ({
  souk,
}) => {
  const client = await souk.client({ plan: { minuteLimit: 2 } });
  const get = (asin: string) => client.get(`/api/market/product?domain=1&asins=${asin}`);
  // The clock is at a full minute plus the time of earlier tests.
  const left = 60 - Math.floor((souk.clock.now() % 60_000) / 1000);

  const [first, second] = [await get('B00LIMIT01'), await get('B00LIMIT02')];
  expect([first, second].map(({ headers }) => headers['ratelimit-policy'])).toEqual(
    Array(2).fill('"minute";q=2;w=60'),
  );
  expect([first, second].map(({ headers }) => headers.ratelimit)).toEqual([
    `"minute";r=1;t=${left}`,
    `"minute";r=0;t=${left}`,
  ]);

  const third = await get('B00LIMIT03');
  expect([third.status, third.json.code]).toEqual([429, 'QUOTA_MINUTE_EXCEEDED']);
  expect(third.headers['retry-after']).toBe(String(left));
  expect(third.headers).toMatchObject({
    ratelimit: `"minute";r=0;t=${left}`,
    'ratelimit-policy': '"minute";q=2;w=60',
  });
  expect(third.json.metadata).toMatchObject({ wallet: 'general', needed: 1, remaining: 0 });
  expect(await unitsUsed(client)).toBe(2);

  await leapAhead(souk, left * 1000, ['market']);
  expect((await get('B00LIMIT03')).status).toBe(200);
});

test('a refusal for another limit states the calls that remain in the minute', async ({ souk }) => {
  const client = await souk.client({ plan: { minuteLimit: 5, dailyLimit: 1 } });
  await client.get('/api/market/product?domain=1&asins=B00LIMIT05');
  const refused = await client.get('/api/market/product?domain=1&asins=B00LIMIT06');
  expect([refused.status, refused.json.code]).toEqual([429, 'QUOTA_DAILY_EXCEEDED']);
  expect(refused.headers.ratelimit).toMatch(/^"minute";r=4;t=\d+$/);
  expect(refused.headers['ratelimit-policy']).toBe('"minute";q=5;w=60');
});

test('answers to an account without a minute limit have no rate limit headers', async ({ souk }) => {
  const reply = await (await souk.client()).get('/api/market/product?domain=1&asins=B00LIMIT04');
  expect(reply.headers).not.toHaveProperty('ratelimit');
  expect(reply.headers).not.toHaveProperty('ratelimit-policy');
});
