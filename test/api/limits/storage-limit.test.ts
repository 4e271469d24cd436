import { expect } from 'vitest';
import { storedByAccount } from '../../../src/batches/limits.ts';
import { redisKeys } from '../../../src/platform/redis-keys.ts';
import { newAsin } from '../../support/answers.ts';
import { asinsFrom, finished } from '../../support/batches.ts';
import { connectAgent } from '../../support/mcp-client.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

test.override('soukOptions', { accountLimits: { storedBytes: 1 } });

const product = () => `/api/market/product?domain=1&asins=${newAsin()}`;
const polled = { headers: { prefer: 'respond-async' } };
const batch = (asin: string) => ({
  operation: 'market.product',
  params: { domain: 1 },
  split: { asins: asinsFrom(asin, 1) },
});

test('refuses polled calls and new batches of an account whose stored jobs reach the limit, and no other call', async ({
  souk,
  client,
}) => {
  const { status, json } = await client.get(product(), polled);
  expect(status).toBe(202);
  const { jobId } = json.data;
  expect((await client.get(`/api/jobs/${jobId}/result?wait=30`)).status).toBe(200);
  const used = await unitsUsed(client);
  // The gateway remembers the bytes of an account for ten seconds.
  souk.clock.advance(10_001);

  const refused = await client.get(product(), polled);
  expect([refused.status, refused.json.code, refused.headers['retry-after']]).toEqual([
    429,
    'STORAGE_EXCEEDED',
    '3600',
  ]);
  expect(refused.json.metadata).toEqual({ limit: 1, stored: expect.any(Number) });
  expect((await client.post('/api/batches', batch('B0STORA'))).json.code).toBe('STORAGE_EXCEEDED');
  const quote = await client.post('/api/batches/quote', batch('B0STORA'));
  expect(quote.json.data).toMatchObject({ admitted: false, rejectReason: 'STORAGE_EXCEEDED' });
  expect(await unitsUsed(client)).toBe(used);

  expect((await client.get(product())).status).toBe(200);
  expect((await (await souk.client()).get(product(), polled)).status).toBe(202);
});

test('neither refuses a tool that reports progress nor stores what it returns from the cache', async ({
  souk,
  redis,
  account,
  client,
}) => {
  const stored = () =>
    storedByAccount(
      { database: souk.database, redis, keys: redisKeys(souk.redisNamespace) },
      account.accountId,
    );
  const { jobId } = (await client.get(product(), polled)).json.data;
  await client.get(`/api/jobs/${jobId}/result?wait=30`);
  souk.clock.advance(10_001);
  const before = await stored();
  const args = { domain: 1, asins: [newAsin()] };
  await (await connectAgent(await souk.client())).call('market_get_product', args);
  const agent = await connectAgent(client);
  const { data } = await agent.call('market_get_product', args, { onprogress: () => {} });
  expect(data._call).toMatchObject({ cache: 'HIT', unitsConsumed: 1 });
  expect(await stored()).toBe(before);
});

test('counts the results of batches', async ({ souk, redis, account, client }) => {
  const keys = redisKeys(souk.redisNamespace);
  const stored = () => storedByAccount({ database: souk.database, redis, keys }, account.accountId);
  expect(await stored()).toBe(0);
  await finished(client, (await client.post('/api/batches', batch('B0COUNT'))).json.data);
  const { rows } = await souk.database.query<{ bytes: number }>(
    `select sum(octet_length(lines))::integer as bytes
     from batch_calls c join batches b on b.id = c.batch_id where b.account_id = $1`,
    [account.accountId],
  );
  expect(rows[0]?.bytes).toBeGreaterThan(0);
  expect(await stored()).toBe(rows[0]?.bytes);
  expect((await client.get(product(), polled)).json.code).toBe('STORAGE_EXCEEDED');
});
