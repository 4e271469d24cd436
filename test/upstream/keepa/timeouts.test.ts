import { expect } from 'vitest';
import { knowsEveryProduct } from '../../support/answers.ts';
import type { Script } from '../../support/scripted-upstream.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const never = new Promise<never>(() => {});
const silent: Script = () => never;
const stuckInTheBody: Script = (_call, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"timestamp":1,');
  return never;
};

test.for<[string, string, number, number, Script]>([
  ['a product look-up', 'market/product?domain=1&asins=B00TOOSLOW,B00TOOSLO2', 60, 2, silent],
  ['the deal of an ASIN', 'market/lightningdeal?domain=1&asin=B00TOOSLOW', 60, 1, silent],
  ["a site's list of deals", 'market/lightningdeal?domain=1', 120, 500, silent],
  ['a picture', 'market/graphimage?domain=1&asin=B00TOOSLOW', 30, 1, silent],
  ['an answer that stops in the middle', 'market/product?domain=1&asins=B00TOOSLOW', 60, 1, stuckInTheBody],
])(
  'returns 504 for %s at its timeout, closes the socket and charges nothing',
  async ([_what, path, seconds, units, script], { souk, client, upstream }) => {
    for (const endpoint of ['product', 'lightningdeal', 'graphimage']) upstream.on(endpoint, script);
    const waiting = client.get(`/api/${path}`);
    await upstream.received(1);
    const [call] = upstream.calls;

    souk.clock.advance(seconds * 1000 - 1);
    // The units are still reserved. This round trip takes long enough for a premature abort to become visible.
    expect(await unitsUsed(client)).toBe(units);
    expect(call?.aborted).toBe(false);

    souk.clock.advance(1);
    const reply = await waiting;
    expect([reply.status, reply.json.code, reply.json.data]).toEqual([504, 'UPSTREAM_TIMEOUT', null]);
    expect(reply.headers['x-units-consumed']).toBe('0');
    await upstream.abandoned(1);
    expect(await unitsUsed(client)).toBe(0);
    expect(upstream.calls).toHaveLength(1);
  },
);

test('does not retry after the timeout, even if one is due then', async ({ souk, client, upstream }) => {
  upstream.on('product', () => ({ status: 500, json: {} }));
  const waiting = client.get('/api/market/product?domain=1&asins=B00RETRIES');
  await upstream.received(1);
  // From now on the second attempt waits, and its time is equal to the deadline.
  upstream.on('product', silent);
  await expect
    .poll(() => {
      souk.clock.advance(60_000);
      return upstream.calls.length <= 2;
    })
    .toBe(true);
  const reply = await waiting;
  expect(reply.json.code).toBe('UPSTREAM_TIMEOUT');
  expect(await unitsUsed(client)).toBe(0);
});

test('continues for a joined caller after the first one has disconnected', async ({ client, upstream }) => {
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  upstream.on('product', async (call, response) => {
    await answered;
    return knowsEveryProduct(call, response);
  });
  const path = '/api/market/product?domain=1&asins=B00HANGSUP';
  const hangUp = new AbortController();
  const leaving = client.get(path, { signal: hangUp.signal });
  await upstream.received(1);
  const staying = client.get(path);
  hangUp.abort();
  await expect(leaving).rejects.toThrow();
  answer();
  const reply = await staying;
  expect([reply.status, reply.headers['x-deduplicated']]).toEqual([200, 'true']);
  expect(upstream.calls.map(({ aborted }) => aborted)).toEqual([false]);
  expect(await unitsUsed(client)).toBe(1);
});
