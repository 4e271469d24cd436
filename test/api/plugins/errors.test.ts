import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { knowsEveryProduct } from '../../support/answers.ts';
import type { Client, Reply, RequestOptions } from '../../support/client.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';

let souk: Souk;
let client: Client;
beforeAll(async () => {
  souk = await openSouk();
  souk.upstream.on('product', knowsEveryProduct);
  client = await souk.client();
});
afterAll(() => souk.close());

const PRODUCT = '/api/market/product';
const GOOD_BODY = { domain: 1, asins: ['B00REFUSED'] };

async function expectRefused(reply: Reply, status: number, code: string): Promise<void> {
  expect([reply.status, reply.json.code, reply.json.data]).toEqual([status, code, null]);
  expect(reply.headers['x-units-consumed']).toBe('0');
  expect(await unitsUsed(client)).toBe(0);
  expect(souk.upstream.calls).toEqual([]);
}

describe('a method that a path does not take gets 405, with those it takes in Allow', () => {
  test.each([
    ['PUT', PRODUCT, 'GET, POST'],
    ['DELETE', PRODUCT, 'GET, POST'],
    ['PATCH', PRODUCT, 'GET, POST'],
    ['OPTIONS', PRODUCT, 'GET, POST'],
    ['TRACE', PRODUCT, 'GET, POST'],
    ['POST', '/api/market/lightningdeal', 'GET'],
    ['POST', '/api/market/graphimage', 'GET'],
    ['POST', '/api/market/charturl', 'GET'],
    ['PUT', '/api/retail/imageurl', 'GET'],
    ['DELETE', '/api/quota', 'GET'],
    ['POST', '/api/token', 'GET'],
    ['PUT', '/api/jobs/some-job', 'GET, DELETE'],
  ])('%s %s', async (method, path, allowed) => {
    const reply = await client.get(path, { method });
    expect(reply.headers.allow).toBe(allowed);
    await expectRefused(reply, 405, 'METHOD_NOT_ALLOWED');
  });

  test('HEAD, without a body', async () => {
    const reply = await client.get(PRODUCT, { method: 'HEAD' });
    expect([reply.status, reply.headers.allow, reply.body.length]).toEqual([405, 'GET, POST', 0]);
  });

  test('whatever body comes with it', async () => {
    for (const body of ['not json', 'x'.repeat(70_000)]) {
      const reply = await client.get(PRODUCT, {
        method: 'PUT',
        body,
        headers: { 'content-type': 'text/csv' },
      });
      await expectRefused(reply, 405, 'METHOD_NOT_ALLOWED');
    }
  });
});

test.each([
  '/api',
  '/api/',
  '/api/market',
  '/api/market/products',
  '/api/market/product/B00REFUSED',
  '/v1/api/quota',
])('%s is nowhere: 404', async (path) => {
  for (const method of ['GET', 'POST', 'PUT']) {
    await expectRefused(await client.get(path, { method }), 404, 'NOT_FOUND');
  }
});

describe('a body', () => {
  const post = (options: RequestOptions) => client.get(PRODUCT, { method: 'POST', ...options });
  const json = { 'content-type': 'application/json' };

  test('of 64 KiB is read, of one byte more refused with 413', async () => {
    const padded = (bytes: number) => {
      const body = JSON.stringify({ domain: 99, asins: ['B00REFUSED'] });
      return body.slice(0, -1) + ' '.repeat(bytes - body.length) + body.slice(-1);
    };
    await expectRefused(await post({ body: padded(65_536), headers: json }), 400, 'VALIDATION_FAILED');
    const tooLarge = await post({ body: padded(65_537), headers: json });
    expect(tooLarge.json.msg).toContain('65536');
    await expectRefused(tooLarge, 413, 'PAYLOAD_TOO_LARGE');
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'nonsense',
    'multipart/form-data',
  ])('of type %s is refused with 415', async (type) => {
    const reply = await post({ body: JSON.stringify(GOOD_BODY), headers: { 'content-type': type } });
    await expectRefused(reply, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  test('without a type is refused with 415', async () => {
    await expectRefused(await post({ body: JSON.stringify(GOOD_BODY) }), 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  test.each([
    ['broken off', '{"domain":1,"asins":["B00REF'],
    ['not JSON', 'domain=1&asins=B00REFUSED'],
    ['empty', ''],
    ['with a prototype in it', '{"domain":1,"asins":["B00REFUSED"],"__proto__":{"domain":2}}'],
    ['a list', '["B00REFUSED"]'],
    ['a number', '1'],
    ['null', 'null'],
  ])('that is %s is refused with 400', async (_what, body) => {
    const reply = await post({ body, headers: json });
    expect(reply.json.metadata?.errors).toEqual([expect.objectContaining({ parameter: 'body' })]);
    await expectRefused(reply, 400, 'VALIDATION_FAILED');
  });

  test('that is missing is refused with 400', async () => {
    await expectRefused(await post({}), 400, 'VALIDATION_FAILED');
  });
});

test('every bad parameter of a request is named, with what is allowed', async () => {
  const bad = { stats: 0, history: 'maybe', offers: 101, detailLevel: 'huge', asins: ['B00', 'B00REFUSED'] };
  const query = new URLSearchParams({ ...bad, asins: 'B00' } as unknown as Record<string, string>).toString();
  for (const reply of [await client.post(PRODUCT, bad), await client.get(`${PRODUCT}?${query}`)]) {
    await expectRefused(reply, 400, 'VALIDATION_FAILED');
    const faults = reply.json.metadata?.errors as { parameter: string; problem: string }[];
    expect(faults.map(({ parameter }) => parameter).sort()).toEqual(
      ['asins', 'detailLevel', 'domain', 'history', 'offers', 'stats'].sort(),
    );
    expect(reply.json.msg).toContain('offers: must be an integer from 0 to 100');
    expect(reply.json.msg).toContain('detailLevel: must be one of summary, lite, full');
    expect(reply.json.msg).toContain('domain: is required');
  }
});

describe('what is hardly HTTP', () => {
  /** Sends bytes as they are and reads until the other side hangs up. */
  function sendBytes(bytes: string): Promise<string> {
    const { hostname, port } = new URL(client.baseUrl);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(bytes));
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk.toString();
      });
      socket.on('end', () => resolve(answer)).on('error', reject);
    });
  }

  test.each([
    [
      'an address that cannot be decoded',
      `GET /api/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      400,
    ],
    ['a line that is no request', 'HELLO\r\n\r\n', 400],
    [
      'headers beyond all bounds',
      `GET /api/quota HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`,
      413,
    ],
  ])('%s gets an error of the list', async (_what, bytes, status) => {
    const answer = await sendBytes(bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as unknown;
    const code = status === 413 ? 'PAYLOAD_TOO_LARGE' : 'VALIDATION_FAILED';
    expect(body).toEqual({ code, msg: expect.any(String), data: null });
  });
});

test.each([
  ['no key', {}],
  ['an unknown key', { 'x-api-key': `km_${'0'.repeat(32)}` }],
])('a bad body with %s is refused for the key', async (_what, headers) => {
  const client = await souk.client();
  const bodies = [
    { body: '{bad', headers: { 'content-type': 'application/json', ...headers } },
    { body: 'a=b', headers: { 'content-type': 'text/plain', ...headers } },
    { body: `"${'x'.repeat(70_000)}"`, headers: { 'content-type': 'application/json', ...headers } },
  ];
  for (const options of bodies) {
    const { status, json } = await client.raw('/api/market/product', { method: 'POST', ...options });
    expect({ status, code: json.code }).toEqual({ status: 401, code: '4001' });
  }
});
