import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { test } from '../../support/shared-souk-test.ts';

const LIST = '/api/market/lightningdeal?domain=1';
const SHORTER_LIST = '/api/market/lightningdeal?domain=2';
const MEGABYTE = 1024 * 1024;

const deals = Array.from({ length: 13_000 }, (_, i) => ({
  asin: `B${String(i).padStart(9, '0')}`,
  dealState: 'AVAILABLE',
  title: randomBytes(400).toString('hex'),
  dealPrice: i,
}));

test.beforeAll(async ({ souk }) => {
  const answerOf = (lightningDeals: unknown[]) => {
    const tokens = { timestamp: 1, tokensLeft: 9_000, refillIn: 1, refillRate: 300 };
    return gzipSync(JSON.stringify({ ...tokens, lightningDeals }), { level: 1 });
  };
  const [all, some] = [answerOf(deals), answerOf(deals.slice(0, 1_500))];
  souk.upstream.on('lightningdeal', ({ params }) => ({
    raw: params.domain === '1' ? all : some,
    headers: { 'content-encoding': 'gzip' },
  }));
});

test('returns a list of more than 10 MB, with gzip only for clients that accept it', async ({ souk }) => {
  const { key } = await souk.account();
  const client = souk.clientOf(key);
  const compressed = await client.get(LIST, { headers: { 'accept-encoding': 'gzip, br' } });
  expect(compressed.status).toBe(200);
  expect(compressed.headers).toMatchObject({
    'content-encoding': 'gzip',
    'content-type': 'application/json; charset=utf-8',
    vary: expect.stringMatching(/accept-encoding/i),
    'x-units-consumed': '500',
    'x-cache': 'MISS',
  });
  const inflated = gunzipSync(compressed.body);
  expect(inflated.length).toBeGreaterThan(10 * MEGABYTE);
  expect(compressed.body.length).toBeLessThan(inflated.length * 0.7);
  const { lightningDeals, ...rest } = JSON.parse(inflated.toString()).data;
  expect(rest).toEqual({ fromCache: false, country: 'us', domainId: 1 });
  // toEqual would take minutes to describe a difference.
  expect(isDeepStrictEqual(lightningDeals, deals)).toBe(true);

  const plain = await client.get(LIST);
  expect(plain.headers).toMatchObject({
    vary: expect.stringMatching(/accept-encoding/i),
    'content-length': String(inflated.length),
    'x-units-consumed': '0',
    'x-deduplicated': 'true',
  });
  expect(plain.headers).not.toHaveProperty('content-encoding');
  expect(plain.body.equals(inflated)).toBe(true);

  const elsewhere = await (await souk.client()).get(LIST);
  expect(elsewhere.headers).toMatchObject({ 'x-units-consumed': '500', 'x-cache': 'HIT' });
  expect(elsewhere.json.data).toMatchObject({ fromCache: true });
  expect(elsewhere.json.data.lightningDeals).toHaveLength(deals.length);
  expect(souk.upstream.calls).toHaveLength(1);
});

describe('gzip by Accept-Encoding', () => {
  test.for([
    ['gzip', true],
    ['GZIP', true],
    ['*', true],
    ['br;q=1, gzip;q=0.5', true],
    ['identity;q=0.5, gzip', true],
    ['identity;q=0, gzip', true],
    ['br', false],
    ['', false],
    ['identity', false],
    ['gzip;q=0', false],
    ['gzip;q=0, *', false],
    ['gzip;q=0.1, identity', false],
  ] as const)('accept-encoding "%s": %s', async ([accepted, isCompressed], { souk }) => {
    const client = await souk.client();
    // A small answer that is stored compressed, and a large one.
    for (const path of [`${SHORTER_LIST}&state=AVAILABLE`, SHORTER_LIST]) {
      const reply = await client.get(path, { headers: { 'accept-encoding': accepted } });
      expect(reply.headers['content-encoding']).toBe(isCompressed ? 'gzip' : undefined);
      const body = isCompressed ? gunzipSync(reply.body) : reply.body;
      expect(body.subarray(0, 14).toString()).toBe('{"code":"0000"');
    }
  });
});

test('serves the next request after a client has disconnected in the middle of a list', async ({ souk }) => {
  const client = await souk.client();
  const hangUp = new AbortController();
  const leaving = client.get(LIST, { signal: hangUp.signal });
  hangUp.abort();
  await expect(leaving).rejects.toThrow();
  const reply = await client.get(LIST);
  expect(JSON.parse(reply.body.toString()).data.lightningDeals).toHaveLength(deals.length);
});
