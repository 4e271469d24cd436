import { gunzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { DEMO_KEY, type Demo, openDemo } from '../support/demo-provider.ts';

let demo: Demo;
afterEach(() => demo.close());

const CALL = { domain: 1, asin: 'B0AA11BB22' };

test.each([
  ['DEMO_FAIL_RATE', 500],
  ['DEMO_ERROR_BODY_RATE', 200],
])('%s returns HTTP %i with an error instead of the payload, and charges nothing', async (rate, expected) => {
  demo = await openDemo({ [rate]: '1' });
  const { status, json } = await demo.get('product', CALL);
  expect(status).toBe(expected);
  expect(json).toMatchObject({ tokensConsumed: 0, error: { type: expect.any(String) } });
  expect(json).not.toHaveProperty('products');
  expect((await demo.get('token')).json.tokensLeft).toBe(36_000);
});

test.each(['product', 'graphimage'])('DEMO_TRUNCATE_RATE truncates the answer of %s', async (path) => {
  const whole = await openDemo();
  const { bytes } = await whole.get(path, CALL);
  await whole.close();
  demo = await openDemo({ DEMO_TRUNCATE_RATE: '1' });
  const broken = await demo.get(path, CALL);
  expect(broken.status).toBe(200);
  expect(broken.bytes).toEqual(bytes.subarray(0, bytes.length >> 1));
});

test('truncates compressed answers so that they cannot be inflated', async () => {
  demo = await openDemo({ DEMO_TRUNCATE_RATE: '1' });
  const reply = await demo.raw(`/product?key=${DEMO_KEY}&domain=1&asin=B0AA11BB22`, {
    headers: { 'accept-encoding': 'gzip' },
  });
  expect(reply.headers['content-encoding']).toBe('gzip');
  expect(() => gunzipSync(reply.bytes)).toThrow('unexpected end of file');
});

test.each(['product', 'graphimage'])('DEMO_MALFORMED_RATE returns a web page for %s', async (path) => {
  demo = await openDemo({ DEMO_MALFORMED_RATE: '1' });
  const { status, bytes } = await demo.get(path, CALL);
  expect(status).toBe(200);
  expect(bytes.toString()).toMatch(/^<html>/);
});

test('rates between 0 and 1 affect some calls and not others', async () => {
  demo = await openDemo({ DEMO_FAIL_RATE: '0.5' });
  const calls = await Promise.all(Array.from({ length: 60 }, () => demo.get('product', CALL)));
  expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([200, 500]));
});

test('DEMO_LATENCY_MS delays every answer by its value', async () => {
  demo = await openDemo({ DEMO_LATENCY_MS: '2500' });
  let answered = false;
  const reply = demo.get('product', CALL).finally(() => {
    answered = true;
  });
  await demo.clock.until('latency');
  demo.clock.advance(2_499);
  expect([answered, demo.clock.countOf('latency')]).toEqual([false, 1]);
  demo.clock.advance(1);
  expect((await reply).json).toMatchObject({ processingTimeInMs: 2_500, products: [{ asin: CALL.asin }] });
});

test('causes no faults without settings', async () => {
  demo = await openDemo();
  const calls = await Promise.all(Array.from({ length: 60 }, () => demo.get('product', CALL)));
  expect(new Set(calls.map(({ status }) => status))).toEqual(new Set([200]));
});
