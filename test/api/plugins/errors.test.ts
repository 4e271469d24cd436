import { connect } from 'node:net';
import { describe, expect } from 'vitest';
import type { Client, Reply, RequestOptions } from '../../support/client.ts';
import { test } from '../../support/shared-souk-test.ts';
import type { Souk } from '../../support/souk.ts';
import { unitsUsed } from '../../support/units.ts';
import { words } from '../../support/words.ts';

const PRODUCT = '/api/market/product';
const GOOD_BODY = { domain: 1, asins: ['B00REFUSED'] };

async function expectRefused(
  souk: Souk,
  client: Client,
  reply: Reply,
  status: number,
  code: string,
): Promise<void> {
  expect([reply.status, reply.json.code, reply.json.data]).toEqual([status, code, null]);
  expect(reply.headers['x-units-consumed']).toBe('0');
  expect(await unitsUsed(client)).toBe(0);
  expect(souk.upstream.calls).toEqual([]);
}

describe('returns 405 with Allow for', () => {
  test.for([
    ['PUT', PRODUCT, 'GET, POST'],
    ['DELETE', PRODUCT, 'GET, POST'],
    ['PATCH', PRODUCT, 'GET, POST'],
    ['OPTIONS', PRODUCT, 'GET, POST'],
    ['TRACE', PRODUCT, 'GET, POST'],
    ['POST', '/api/market/lightningdeal', 'GET'],
    ['POST', '/api/market/graphimage', 'GET'],
    ['POST', '/api/market/charturl', 'GET, HEAD'],
    ['PUT', '/api/retail/imageurl', 'GET, HEAD'],
    ['DELETE', '/api/quota', 'GET, HEAD'],
    ['POST', '/api/token', 'GET, HEAD'],
    ['PUT', '/api/jobs/some-job', 'GET, HEAD, DELETE'],
  ] as const)('%s %s', async ([method, path, allowed], { souk, client }) => {
    const reply = await client.get(path, { method });
    expect(reply.headers.allow).toBe(allowed);
    await expectRefused(souk, client, reply, 405, 'METHOD_NOT_ALLOWED');
  });

  test('HEAD, without a body', async ({ client }) => {
    const reply = await client.get(PRODUCT, { method: 'HEAD' });
    expect([reply.status, reply.headers.allow, reply.body.length]).toEqual([405, 'GET, POST', 0]);
  });

  test('for any body', async ({ souk, client }) => {
    for (const body of ['not json', 'x'.repeat(70_000)]) {
      const reply = await client.get(PRODUCT, {
        method: 'PUT',
        body,
        headers: { 'content-type': 'text/csv' },
      });
      await expectRefused(souk, client, reply, 405, 'METHOD_NOT_ALLOWED');
    }
  });
});

test.for([
  ...words('/api /api/ /api/market /api/market/products /api/market/product/B00REFUSED /v1/api/quota'),
])('returns 404 for the unknown path %s', async (path, { souk, client }) => {
  for (const method of ['GET', 'POST', 'PUT']) {
    await expectRefused(souk, client, await client.get(path, { method }), 404, 'NOT_FOUND');
  }
});

test.for([
  ['GET', '/api/nothing'],
  ['POST', '/api/market/products'],
  ['PUT', '/api/market/product'],
  ['DELETE', '/api/quota'],
] as const)('returns 401 for %s %s without a valid key', async ([method, path], { client }) => {
  const unknownKey = `km_${'0'.repeat(32)}`;
  for (const headers of [{}, { 'x-api-key': unknownKey }]) {
    const reply = await client.raw(path, { method, headers });
    expect([reply.status, reply.json.code]).toEqual([401, '4001']);
  }
});

describe('a body', () => {
  const post = (client: Client, options: RequestOptions) =>
    client.get(PRODUCT, { method: 'POST', ...options });
  const json = { 'content-type': 'application/json' };

  test('of 64 KiB is read, and one byte more is refused with 413', async ({ souk, client }) => {
    const padded = (bytes: number) => {
      const body = JSON.stringify({ domain: 99, asins: ['B00REFUSED'] });
      return body.slice(0, -1) + ' '.repeat(bytes - body.length) + body.slice(-1);
    };
    await expectRefused(
      souk,
      client,
      await post(client, { body: padded(65_536), headers: json }),
      400,
      'VALIDATION_FAILED',
    );
    const tooLarge = await post(client, { body: padded(65_537), headers: json });
    expect(tooLarge.json.msg).toContain('65536');
    await expectRefused(souk, client, tooLarge, 413, 'PAYLOAD_TOO_LARGE');
  });

  test.for([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'nonsense',
    'multipart/form-data',
  ])('of type %s is refused with 415', async (type, { souk, client }) => {
    const reply = await post(client, { body: JSON.stringify(GOOD_BODY), headers: { 'content-type': type } });
    await expectRefused(souk, client, reply, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  test('that is compressed is refused with 415, by the name of its encoding', async ({ souk, client }) => {
    const reply = await post(client, {
      body: JSON.stringify(GOOD_BODY),
      headers: { ...json, 'content-encoding': 'gzip' },
    });
    expect(reply.json.msg).toContain('Content-Encoding gzip');
    await expectRefused(souk, client, reply, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  test('that is empty may have a type at an address that takes none', async ({ client }) => {
    const reply = await client.get('/api/webhooks/secret', { method: 'POST', body: '', headers: json });
    expect(reply.status).toBe(201);
  });

  test('without a type is refused with 415', async ({ souk, client }) => {
    await expectRefused(
      souk,
      client,
      await post(client, { body: JSON.stringify(GOOD_BODY) }),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    );
  });

  test.for([
    ['truncated', '{"domain":1,"asins":["B00REF'],
    ['not JSON', 'domain=1&asins=B00REFUSED'],
    ['empty', ''],
    ['an object with a prototype', '{"domain":1,"asins":["B00REFUSED"],"__proto__":{"domain":2}}'],
    ['a list', '["B00REFUSED"]'],
    ['a number', '1'],
    ['null', 'null'],
  ] as const)('that is %s is refused with 400', async ([_what, body], { souk, client }) => {
    const reply = await post(client, { body, headers: json });
    expect(reply.json.metadata?.errors).toEqual([expect.objectContaining({ parameter: 'body' })]);
    await expectRefused(souk, client, reply, 400, 'VALIDATION_FAILED');
  });

  test('that is missing is refused with 400', async ({ souk, client }) => {
    await expectRefused(souk, client, await post(client, {}), 400, 'VALIDATION_FAILED');
  });
});

test('names every invalid parameter of a request, with the allowed values', async ({ souk, client }) => {
  const bad = { stats: 0, history: 'maybe', offers: 101, detailLevel: 'huge', asins: ['B00', 'B00REFUSED'] };
  const query = new URLSearchParams({ ...bad, asins: 'B00' } as unknown as Record<string, string>).toString();
  for (const reply of [await client.post(PRODUCT, bad), await client.get(`${PRODUCT}?${query}`)]) {
    await expectRefused(souk, client, reply, 400, 'VALIDATION_FAILED');
    const faults = reply.json.metadata?.errors as { parameter: string; problem: string }[];
    expect(faults.map(({ parameter }) => parameter).sort()).toEqual(
      ['asins', 'detailLevel', 'domain', 'history', 'offers', 'stats'].sort(),
    );
    expect(reply.json.msg).toContain('offers: must be an integer from 0 to 100');
    expect(reply.json.msg).toContain('detailLevel: must be one of summary, lite, full');
    expect(reply.json.msg).toContain('domain: is required');
  }
});

describe('malformed HTTP', () => {
  /** Sends raw bytes and reads until the server closes the connection. */
  function sendBytes({ baseUrl }: Client, bytes: string): Promise<string> {
    const { hostname, port } = new URL(baseUrl);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(bytes));
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk.toString();
      });
      socket.on('end', () => resolve(answer)).on('error', reject);
    });
  }

  test.for([
    ['a path that cannot be decoded', `GET /api/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 400],
    ['a line that is not a request', 'HELLO\r\n\r\n', 400],
    [
      'headers beyond the limit',
      `GET /api/quota HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`,
      413,
    ],
  ] as const)('returns a documented error for %s', async ([_what, bytes, status], { client }) => {
    const answer = await sendBytes(client, bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as unknown;
    const code = status === 413 ? 'PAYLOAD_TOO_LARGE' : 'VALIDATION_FAILED';
    expect(body).toEqual({ code, msg: expect.any(String), data: null });
  });
});

test.for([
  ['no key', {}],
  ['an unknown key', { 'x-api-key': `km_${'0'.repeat(32)}` }],
] as const)('returns 401 for a bad body with %s', async ([_what, headers], { souk }) => {
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
