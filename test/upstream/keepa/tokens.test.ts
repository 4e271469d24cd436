import { expect } from 'vitest';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { PLENTY, type UpstreamAnswer } from '../../support/scripted-upstream.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { advanceUntil } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';

let souk: Souk;
let client: Client;
let askedAt: number[];
test.beforeEach(async ({ ownSouk }) => {
  souk = ownSouk;
  client = await souk.client();
  askedAt = [];
});

const pathOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

/** Answers each call with the next of these, and later calls with many tokens left. */
function answerWith(...answers: UpstreamAnswer[]): void {
  souk.upstream.on('product', (call, response) => {
    askedAt.push(souk.clock.now());
    return answers.shift() ?? knowsEveryProduct(call, response);
  });
}

let timestamp = 1_000_000;
function bucket(tokensLeft: number, refillIn: number, refillRate = 5) {
  timestamp += 1;
  return { ...PLENTY, timestamp, tokensLeft, refillIn, refillRate };
}

function refused(tokensLeft: number, refillIn: number, refillRate?: number): UpstreamAnswer {
  const error = { type: 'notEnoughTokens', message: 'Not enough tokens.' };
  return { status: 429, json: { ...bucket(tokensLeft, refillIn, refillRate), tokensConsumed: 0, error } };
}

test.each([
  ['with tokens for the next minute', refused(0, 20_000), 20],
  ['with an overdraft of several minutes', refused(-12, 10_000, 10), 70],
  ['that does not mention tokens', { status: 429, raw: 'slow down' } as UpstreamAnswer, 60],
])('waits and answers after a 429 %s', async (_what, refusal, waitSeconds) => {
  // A call for the deals of a site may wait longer than a call for a product.
  const path = '/api/market/lightningdeal?domain=1';
  const answers = [refusal];
  souk.upstream.on('lightningdeal', () => {
    askedAt.push(souk.clock.now());
    return answers.shift() ?? { json: { lightningDeals: [] } };
  });
  const waiting = client.get(path);
  await advanceUntil(souk.clock, () => askedAt.length === 2, 500);
  const reply = await waiting;
  expect([reply.status, reply.headers['x-units-consumed']]).toEqual([200, '500']);
  const [first = 0, second = 0] = askedAt;
  expect(second - first).toBeGreaterThanOrEqual(waitSeconds * 1000);
  expect(second - first).toBeLessThan((waitSeconds + 5) * 1000);
});

test('returns 503 BUSY with Retry-After immediately, without charge, if the wait for tokens exceeds the deadline', async () => {
  answerWith(refused(-100, 30_000));
  const reply = await client.get(pathOf(newAsin()));
  expect([reply.status, reply.json.code, reply.json.data]).toEqual([503, 'BUSY', null]);
  // 101 tokens at 5 a minute: one tick in half a minute and twenty after it.
  expect(Number(reply.headers['retry-after'])).toBeGreaterThanOrEqual(30 + 20 * 60);
  expect(await unitsUsed(client)).toBe(0);

  // The next call is refused without a request to upstream.
  const next = await client.get(pathOf(newAsin()));
  expect(next.json.code).toBe('BUSY');
  expect(askedAt).toHaveLength(1);
});

test('stops the next calls of all workers after an answer that leaves no tokens', async () => {
  await souk.addWorker();
  answerWith({ json: { ...bucket(0, 15_000), products: [] } });
  await client.get(pathOf(newAsin()));
  let ended = 0;
  const waiting = Array.from({ length: 4 }, async () => {
    const reply = await client.get(pathOf(newAsin()));
    ended += 1;
    return reply.status;
  });
  await advanceUntil(souk.clock, () => ended === 4, 500);
  expect(await Promise.all(waiting)).toEqual([200, 200, 200, 200]);
  const [first = 0, ...others] = askedAt;
  expect(Math.min(...others) - first).toBeGreaterThanOrEqual(15_000);
});

test("accepts readings after a 429 without a reading, although the provider's clock is behind", async () => {
  const answers: UpstreamAnswer[] = [
    { status: 429, raw: '' },
    { json: { ...bucket(0, 40_000), lightningDeals: [] } },
  ];
  souk.upstream.on('lightningdeal', () => {
    askedAt.push(souk.clock.now());
    return answers.shift() ?? { json: { lightningDeals: [] } };
  });
  for (const domain of [1, 2]) {
    const waiting = client.get(`/api/market/lightningdeal?domain=${domain}`);
    await advanceUntil(souk.clock, () => askedAt.length === domain + 1, 500);
    expect((await waiting).status).toBe(200);
  }
  const [, second = 0, third = 0] = askedAt;
  expect(third - second).toBeGreaterThanOrEqual(40_000);
});
