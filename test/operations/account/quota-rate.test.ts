import { expect, onTestFinished } from 'vitest';
import { createKey } from '../../../src/accounts/authentication.ts';
import { newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import { test } from '../../support/souk-test.ts';

/** The limit of free requests that the settings have by default. */
test.override('soukOptions', { limits: { freePerSecond: 20, waiting: 200 } });

/** Reads the quota more often than the limit is, and not so often that reads wait. */
const many = (client: Client) => Promise.all(Array.from({ length: 150 }, () => client.get('/api/quota')));

test.for(['/api/quota', '/api/token'])(
  'answers each of 500 reads of %s at the same time, and then other free requests',
  async (path, { client }) => {
    const replies = await Promise.all(Array.from({ length: 500 }, () => client.get(path)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await client.get('/api/jobs')).status).toBe(200);
  },
);

test('answers 700 reads at the same time, those beyond 500 a second later', async ({ souk, client }) => {
  const replies = Promise.all(Array.from({ length: 700 }, () => client.get('/api/quota')));
  await souk.clock.until('quota snapshot');
  // Reads that arrive later wait for further snapshots.
  const ticking = setInterval(() => souk.clock.advance(1_000), 20);
  onTestFinished(() => clearInterval(ticking));
  expect(new Set((await replies).map(({ status }) => status))).toEqual(new Set([200]));
});

test('shows the units of a call within a second, however often it is read', async ({ souk, client }) => {
  const read = async () => (await client.get('/api/quota')).json.data;
  const { general: before } = await read();
  await many(client);
  await client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
  await many(client);
  souk.clock.advance(1_001);
  const { general: after, serverTime } = await read();
  expect(after.daily.used - before.daily.used).toBe(1);
  expect(Date.parse(serverTime)).toBe(souk.clock.now());
});

test('shows each key of an account its own limits beyond the rate', async ({ souk, client, account }) => {
  const key = await createKey(souk.database, account.accountId, souk.clock.now());
  await many(client);
  const prefixes = await Promise.all(
    [client, souk.clientOf(key), client, souk.clientOf(key)].map(
      async (one) => (await one.get('/api/quota')).json.data.key.prefix,
    ),
  );
  expect(prefixes.map((prefix, n) => [client.key, key][n % 2]?.startsWith(prefix))).toEqual(
    Array(4).fill(true),
  );
});
