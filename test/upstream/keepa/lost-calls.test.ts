import { Redis } from 'ioredis';
import { afterAll, expect } from 'vitest';
import { redisKeys } from '../../../src/platform/redis-keys.ts';
import { readTokens } from '../../../src/upstream/token-bucket.ts';
import { newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import type { Demo } from '../../support/demo-provider.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const LATENCY_MS = 5_000;

test.override('demoSettings', { DEMO_LATENCY_MS: String(LATENCY_MS), DEMO_TOKENS_PER_MINUTE: '50' });
test.override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url }));
let souk: Souk;
let demo: Demo;
let client: Client;
let redis: Redis;
test.beforeAll(async ({ souk: opened, demo: openedDemo }) => {
  [souk, demo] = [opened, openedDemo];
  client = await souk.client();
  redis = new Redis(souk.redisUrl);
  const first = client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  await answer();
  expect((await first).status).toBe(200);
});
afterAll(async () => {
  redis.disconnect();
});

/** A call of as many products as a request upstream can have, for a token each. */
const expensive = () => ({ domain: 1, asins: Array.from({ length: 100 }, newAsin) });

/** Lets the provider answer the call that it works on. */
async function answer(): Promise<void> {
  await demo.clock.until('latency');
  demo.clock.advance(LATENCY_MS);
}

/** Moves the time of the service and of the provider. */
function advance(ms: number): void {
  souk.clock.advance(ms);
  demo.clock.advance(ms);
}

async function balances(): Promise<{ provider: number; ours: number }> {
  const asked = demo.get('token');
  await answer();
  const ours = await readTokens(
    redis,
    redisKeys(souk.redisNamespace).tokens(souk.providers.products, 'main'),
    souk.clock.now(),
  );
  return { provider: (await asked).json.tokensLeft, ours: ours?.left ?? Number.NaN };
}

test('releases a call at its deadline, and counts the tokens of its request as spent', async () => {
  const before = (await balances()).ours;
  const used = await unitsUsed(client);
  const reply = client.post('/api/market/product', expensive());
  await demo.clock.until('latency');
  advance(60_000);
  expect([(await reply).status, await unitsUsed(client)]).toEqual([504, used]);
  await expect.poll(async () => (await balances()).ours).toBeLessThan(before);
  const { provider, ours } = await balances();
  expect(ours).toBeLessThanOrEqual(provider);
});

test('counts tokens as spent if a stopping worker aborts their request', async () => {
  const before = (await balances()).ours;
  const job = await client.post('/api/market/product?async=1', expensive());
  await demo.clock.until('latency');
  const [worker] = souk.workers.splice(0);
  const closed = worker?.close();
  await souk.clock.until('market worker grace');
  advance(10_000);
  await closed;
  const { provider, ours } = await balances();
  expect(ours).toBeLessThan(before);
  expect(ours).toBeLessThanOrEqual(provider);
  await client.get(job.headers.location ?? '', { method: 'DELETE' });
});
