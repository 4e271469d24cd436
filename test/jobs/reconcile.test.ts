import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { openQueues } from '../../jobs/queues.ts';
import { grantPack } from '../../src/billing/grants.ts';
import { ledgerLines } from '../../src/billing/ledger-lines.ts';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import { holdProducts } from '../support/answers.ts';
import type { Client } from '../support/client.ts';
import { repetitions } from '../support/repetitions.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';
import { loseRedis, stopWorkers } from '../support/workers.ts';

const PATH = '/api/market/product?domain=1&asins=B0LOST0001,B0LOST0002';

/** Submits a job that no worker takes: the last worker has stopped, and the backlog of the gateway still counts it. */
async function acceptedJob(souk: Souk, client: Client): Promise<string> {
  await stopWorkers(souk);
  const { status, headers } = await client.get(`${PATH}&async=1`);
  expect(status).toBe(202);
  return headers.location ?? '';
}

async function waitingJobs({ redisUrl, redisNamespace }: Souk): Promise<number> {
  const redis = new Redis(redisUrl);
  const queues = openQueues(redis, redisKeys(redisNamespace), createLogger('silent'));
  try {
    return await queues.of('market').getWaitingCount();
  } finally {
    await queues.close();
    redis.disconnect();
  }
}

test('a job that Redis lost is put back, runs, and is charged once', async ({ ownSouk: souk }) => {
  const client = await souk.client();
  const job = await acceptedJob(souk, client);
  expect(await loseRedis(souk)).toBeGreaterThan(0);
  const worker = await souk.addWorker();
  souk.clock.advance(10_001);
  await worker.reconcile();
  const reply = await client.get(`${job}?wait=30`);
  expect(reply.json.data).toMatchObject({ state: 'done', unitsCharged: 2 });
  expect((await client.get(`${job}/result`)).json.data.count).toBe(2);
  expect(souk.upstream.callsTo('product')).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(2);
});

test('a job that was lost while it ran runs again, and is charged once in either order of the ends', async ({
  ownSouk: souk,
}) => {
  const client = await souk.client();
  const open = holdProducts(souk.upstream);
  const { headers } = await client.get(`${PATH}&async=1`);
  await souk.upstream.received(1, 'product');
  await loseRedis(souk);
  const worker = await souk.addWorker();
  souk.clock.advance(10_001);
  await worker.reconcile();
  await souk.upstream.received(2, 'product');
  open();
  const reply = await client.get(`${headers.location}?wait=30`);
  expect(reply.json.data).toMatchObject({ state: 'done', unitsCharged: 2 });
  expect(await unitsUsed(client)).toBe(2);
});

test('a call that has not ended by its deadline is released, and the request that waits for it gets the error', async ({
  ownSouk: souk,
}) => {
  const client = await souk.client();
  const job = await acceptedJob(souk, client);
  const idle = await souk.addWorker(['trends']);
  await loseRedis(souk);
  expect(await unitsUsed(client)).toBe(2);
  const { deadlineAt } = (await client.get(job)).json.data;
  souk.clock.advance(Date.parse(deadlineAt) - souk.clock.now() + 15_000);
  await idle.reconcile();
  expect((await client.get(job)).json.data.state).toBe('queued');
  const poll = client.get(`${job}?wait=60`);
  souk.clock.advance(1);
  await idle.reconcile();
  expect((await poll).json.data).toMatchObject({
    state: 'failed',
    unitsCharged: 0,
    error: { code: 'UPSTREAM_TIMEOUT' },
  });
  expect((await client.get(`${job}/result`)).status).toBe(504);
  expect(await unitsUsed(client)).toBe(0);
});

test('a gateway puts lost jobs back', async ({ ownSouk: souk }) => {
  const client = await souk.client();
  const job = await acceptedJob(souk, client);
  expect(await loseRedis(souk)).toBeGreaterThan(0);
  souk.clock.advance(15_000);
  await expect.poll(() => waitingJobs(souk)).toBe(1);
  await souk.addWorker();
  const reply = await client.get(`${job}?wait=30`);
  expect(reply.json.data).toMatchObject({ state: 'done', unitsCharged: 2 });
});

/** 100,000 with SOUK_TEST_REPEAT=80. */
const LOST_JOBS = repetitions(1_250);

test('puts any number of lost jobs back, each once', async ({ ownSouk: souk }) => {
  const { accountId } = await souk.account();
  await stopWorkers(souk);
  await souk.database.query(
    `insert into open_calls (account_id, id, operation, claim_key, pool, units_reserved, accepted_at, deadline_at, input)
     select $1, gen_random_uuid(), 'market.product', int8send(n), 'market', 1, $2, $3::timestamptz + n / 700 * interval '1 s',
       jsonb_build_object('asins', jsonb_build_array('B' || lpad(n::text, 9, '0')))
     from generate_series(1, $4) as n`,
    [accountId, new Date(souk.clock.now()), new Date(souk.clock.now() + 3_600_000), LOST_JOBS],
  );
  const idle = await souk.addWorker(['trends']);
  await idle.reconcile();
  expect(await waitingJobs(souk)).toBe(0);
  souk.clock.advance(10_001);
  await Promise.all([idle.reconcile(), idle.reconcile()]);
  expect(await waitingJobs(souk)).toBe(LOST_JOBS);
});

test('the units left in a pack expire when its validity ends', async ({ ownSouk: souk }) => {
  const { accountId } = await souk.account({ plan: null });
  const now = souk.clock.now();
  const validity = { validFrom: new Date(now), validUntil: new Date(now + 60_000) };
  const pack = { accountId, wallet: 'general' as const, units: 30, rateLimitPerMinute: 10, ...validity };
  await grantPack(souk.database, pack, now);
  const worker = await souk.addWorker();
  souk.clock.advance(60_000);
  await Promise.all([worker.reconcile(), worker.reconcile()]);
  const lines = await ledgerLines(souk.database, accountId, { limit: 10 });
  expect(lines.map(({ kind, units }) => [kind, units])).toEqual([
    ['expire', 30],
    ['grant', 30],
  ]);
});
