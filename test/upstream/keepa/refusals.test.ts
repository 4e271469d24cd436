import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { hasDeals, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { gate, type Script } from '../../support/scripted-upstream.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { endOf } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';

const ONCE = 1;
/** The first attempt and three more. */
const ALL_ATTEMPTS = 4;

/** Looks up a new product, and advances the clock until the answer arrives. */
async function lookUp(souk: Souk, client: Client, script: Script) {
  souk.upstream.on('product', script);
  const before = souk.upstream.calls.length;
  const path = `/api/market/product?domain=1&asins=${newAsin()}`;
  const reply = await endOf(souk.clock, client.get(path));
  return { path, reply, calls: souk.upstream.calls.slice(before) };
}

const PRODUCTS = JSON.stringify({ timestamp: 1, tokensLeft: 9, refillIn: 9, refillRate: 9, products: [] });
const raw = (body: string | Buffer, headers: Record<string, string> = {}) => ({ raw: body, headers });
const GZIP = { 'content-encoding': 'gzip' };
const wrongKey = {
  error: { type: 'invalidParameter', message: 'Wrong.' },
  refillRate: 0,
  tokensLeft: 0,
  refillIn: 0,
};

describe('returns 502 with an error id and charges nothing for a bad upstream answer:', () => {
  test.for<[string, number, Script]>([
    ['HTTP 200 with an error in the body', ONCE, () => ({ json: { error: { type: 'x', message: 'No.' } } })],
    ['HTTP 400 for a wrong key', ONCE, () => ({ status: 400, json: wrongKey })],
    ['HTTP 402 for a key without access', ONCE, () => ({ status: 402, json: { error: { type: 'unpaid' } } })],
    ['HTTP 404', ONCE, () => ({ status: 404, json: {} })],
    ['HTTP 405 for a value out of range', ONCE, () => ({ status: 405, json: { error: {} } })],
    ['a redirect', ONCE, () => ({ status: 302, ...raw('', { location: 'http://127.0.0.1:1/' }) })],
    ['an object without products', ONCE, () => ({ json: {} })],
    ['a text instead of the list of products', ONCE, () => ({ json: { products: 'many' } })],
    ['an object instead of the list of products', ONCE, () => ({ json: { products: { B000000001: {} } } })],
    ['HTTP 500', ALL_ATTEMPTS, () => ({ status: 500, json: { error: { type: 'internal' } } })],
    ['a web page with HTTP 503', ALL_ATTEMPTS, () => ({ status: 503, ...raw('<html>busy</html>') })],
    ['HTTP 500 without a body', ALL_ATTEMPTS, () => ({ status: 500, ...raw('') })],
    ['an empty body', ALL_ATTEMPTS, () => raw('')],
    ['a web page with HTTP 200', ALL_ATTEMPTS, () => raw('<html>hello</html>')],
    ['truncated JSON', ALL_ATTEMPTS, () => raw(PRODUCTS.slice(0, -5))],
    ['truncated gzip', ALL_ATTEMPTS, () => raw(gzipSync(PRODUCTS).subarray(0, 30), GZIP)],
    ['plain text with Content-Encoding: gzip', ALL_ATTEMPTS, () => raw(PRODUCTS, GZIP)],
    ['a list instead of an object', ALL_ATTEMPTS, () => raw('[]')],
    ['null', ALL_ATTEMPTS, () => raw('null')],
    ['a text instead of the tokens', ALL_ATTEMPTS, () => ({ json: { products: [], tokensLeft: 'plenty' } })],
    ['a text instead of the error object', ALL_ATTEMPTS, () => ({ json: { error: 'no' } })],
    [
      'a connection that closes before the answer',
      ALL_ATTEMPTS,
      (_call, response) => {
        response.destroy();
        return 'handled';
      },
    ],
    [
      'a connection that closes in the middle of the body',
      ALL_ATTEMPTS,
      (_call, response) => {
        response.writeHead(200, { 'content-length': String(PRODUCTS.length) });
        response.write(PRODUCTS.slice(0, 20), () => response.destroy());
        return 'handled';
      },
    ],
  ])('%s', async ([_what, attempts, script], { souk, client }) => {
    const { path, reply, calls } = await lookUp(souk, client, script);
    expect([reply.status, reply.json.code, reply.json.data]).toEqual([502, 'UPSTREAM_ERROR', null]);
    expect(reply.headers['x-units-consumed']).toBe('0');
    expect(calls).toHaveLength(attempts);
    expect(await unitsUsed(client)).toBe(0);

    // The log has the reason under the error id that the customer received.
    const { errorId } = reply.json.metadata ?? {};
    expect(errorId).toMatch(/^[0-9a-f-]{36}$/);
    expect(souk.logLines.filter((line) => line.includes(String(errorId)))).toHaveLength(1);

    // The failure is not cached: the same call is a new attempt and is charged.
    souk.upstream.on('product', knowsEveryProduct);
    const again = await client.get(path);
    expect([again.status, again.headers['x-units-consumed']]).toEqual([200, '1']);
    expect(again.json.data.count).toBe(1);
  });
});

test("logs an error if the provider refuses the operator's key", async ({ souk, client }) => {
  for (const script of [() => ({ status: 402, json: {} }), () => ({ status: 400, json: wrongKey })]) {
    const { reply } = await lookUp(souk, client, script);
    const line = souk.logLines.find((entry) => entry.includes(String(reply.json.metadata?.errorId)));
    expect(JSON.parse(line ?? '')).toMatchObject({
      level: 50,
      msg: expect.stringContaining('rejected the API key'),
    });
  }
});

test('returns the answer of a retry', async ({ souk, client }) => {
  let attempts = 0;
  const { reply, calls } = await lookUp(souk, client, (call, response) => {
    attempts += 1;
    return attempts < ALL_ATTEMPTS ? { status: 500, json: {} } : knowsEveryProduct(call, response);
  });
  expect([reply.status, reply.headers['x-units-consumed'], calls.length]).toEqual([200, '1', ALL_ATTEMPTS]);
});

test('returns data that come with an error', async ({ souk, client }) => {
  const { reply } = await lookUp(souk, client, ({ params }) => ({
    json: {
      error: { type: 'partly', message: 'Some are unknown.' },
      products: [{ asin: params.asin, title: 'T' }],
    },
  }));
  expect([reply.status, reply.json.data.count]).toEqual([200, 1]);
});

test('returns 502 and charges nothing if upstream cannot be reached', async ({ openAnother }) => {
  const nowhere = await openAnother({ upstreamUrl: 'http://127.0.0.1:9' });
  const someone = await nowhere.client();
  const asked = someone.get('/api/market/product?domain=1&asins=B00NOWHERE');
  const reply = await endOf(nowhere.clock, asked);
  expect([reply.status, reply.json.code]).toEqual([502, 'UPSTREAM_ERROR']);
  expect(await unitsUsed(someone)).toBe(0);
});

describe("a site's list of deals", () => {
  test.for<[string, Script]>([
    ['that is missing', () => ({ json: {} })],
    ['that is null', () => ({ json: { lightningDeals: null } })],
    ['that is a number', () => ({ json: { lightningDeals: 12 } })],
  ])('returns 502 and releases 500 units for %s', async ([_what, script], { souk, client }) => {
    souk.upstream.on('lightningdeal', script);
    const refused = await client.get('/api/market/lightningdeal?domain=4');
    expect([refused.status, refused.json.code]).toEqual([502, 'UPSTREAM_ERROR']);
    expect(await unitsUsed(client)).toBe(0);
  });

  test('may be empty', async ({ souk, client }) => {
    souk.upstream.on('lightningdeal', hasDeals([]));
    const reply = await client.get('/api/market/lightningdeal?domain=4');
    expect(reply.json.data.lightningDeals).toEqual([]);
  });
});

test('charges no caller that waits for a product that cannot be fetched', async ({ souk, client }) => {
  const [other, asin, answered] = [await souk.client(), newAsin(), gate()];
  souk.upstream.on('product', async () => {
    await answered.reached;
    return { status: 402, json: {} };
  });
  const path = `/api/market/product?domain=1&asins=${asin}`;
  const waiting = [client, client, other].map((caller) => caller.get(path));
  const callsUnderWay = async () =>
    (await souk.database.query("select from calls where state = 'reserved'")).rowCount;
  await expect.poll(callsUnderWay).toBe(2);
  answered.open();
  const replies = await Promise.all(waiting);
  expect(replies.map(({ status }) => status)).toEqual([502, 502, 502]);
  expect(await Promise.all([unitsUsed(client), unitsUsed(other)])).toEqual([0, 0]);
});
