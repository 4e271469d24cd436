import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSouk, type Souk } from '../../support/souk.ts';

const LIST = '/api/market/lightningdeal?domain=1';
const MEGABYTE = 1024 * 1024;

let souk: Souk;
const deals = Array.from({ length: 13_000 }, (_, i) => ({
  asin: `B${String(i).padStart(9, '0')}`,
  dealState: 'AVAILABLE',
  title: randomBytes(400).toString('hex'),
  dealPrice: i,
}));

beforeAll(async () => {
  souk = await openSouk();
  const body = gzipSync(
    JSON.stringify({ timestamp: 1, tokensLeft: 9_000, refillIn: 1, refillRate: 300, lightningDeals: deals }),
    { level: 1 },
  );
  souk.upstream.on('lightningdeal', () => ({ raw: body, headers: { 'content-encoding': 'gzip' } }));
});
afterAll(() => souk.close());

test('a list of more than 10 MB arrives whole, compressed for those who take gzip and inflated for the others', async () => {
  const { key } = await souk.account();
  const client = souk.clientOf(key);
  const compressed = await client.get(LIST, { headers: { 'accept-encoding': 'gzip, br' } });
  expect(compressed.status).toBe(200);
  expect(compressed.headers).toMatchObject({
    'content-encoding': 'gzip',
    'content-type': 'application/json; charset=utf-8',
    vary: 'accept-encoding',
    'x-units-consumed': '500',
    'x-cache': 'MISS',
  });
  const inflated = gunzipSync(compressed.body);
  expect(inflated.length).toBeGreaterThan(10 * MEGABYTE);
  expect(compressed.body.length).toBeLessThan(inflated.length * 0.7);
  const { lightningDeals, ...rest } = JSON.parse(inflated.toString()).data;
  expect(rest).toEqual({ fromCache: false, country: 'us', domainId: 1 });
  // Not toEqual, which would work for minutes on saying what is different.
  expect(isDeepStrictEqual(lightningDeals, deals)).toBe(true);

  const plain = await client.get(LIST);
  expect(plain.headers).toMatchObject({
    vary: 'accept-encoding',
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

describe('who is sent gzip', () => {
  test.each([
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
  ])('accept-encoding "%s": %s', async (accepted, isCompressed) => {
    const client = await souk.client();
    // One small answer that is kept compressed nevertheless, one large one.
    for (const path of [`${LIST}&state=AVAILABLE`, LIST]) {
      const reply = await client.get(path, { headers: { 'accept-encoding': accepted } });
      expect(reply.headers['content-encoding']).toBe(isCompressed ? 'gzip' : undefined);
      const body = isCompressed ? gunzipSync(reply.body) : reply.body;
      expect(body.subarray(0, 14).toString()).toBe('{"code":"0000"');
    }
  });
});

test('a client that hangs up in the middle of a list harms nobody', async () => {
  const client = await souk.client();
  const hangUp = new AbortController();
  const leaving = client.get(LIST, { signal: hangUp.signal });
  hangUp.abort();
  await expect(leaving).rejects.toThrow();
  const reply = await client.get(LIST);
  expect(JSON.parse(reply.body.toString()).data.lightningDeals).toHaveLength(deals.length);
});
