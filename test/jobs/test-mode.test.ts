import { describe, expect } from 'vitest';
import { testAccountOf } from '../../src/accounts/authentication.ts';
import { TEST_RESULTS_LIFETIME_MS } from '../../src/batches/batch.ts';
import { dropOldBatches } from '../../src/batches/ending.ts';
import { createTestKey, TEST_UNITS_PER_DAY } from '../../src/billing/test-wallet.ts';
import { POOLS, TEST_POOL } from '../../src/operations/pools.ts';
import { ofLiveCalls } from '../../src/operator/call-records.ts';
import type { CallEvent } from '../../src/platform/telemetry/call-events.ts';
import { everyProductWith, holdProducts, newAsin } from '../support/answers.ts';
import { batchOnce, isFinished, linesOf, startBatch } from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import { createSchedule, productsHourly } from '../support/schedules.ts';
import { openScriptedUpstream, type ScriptedUpstream } from '../support/scripted-upstream.ts';
import type { Souk, TestAccount } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';

const test = base
  /** The provider of test calls. */
  .extend('testUpstream', { scope: 'file' }, async ({}, { onCleanup }) => {
    const upstream = await openScriptedUpstream();
    onCleanup(() => upstream.close());
    return upstream;
  })
  .override('soukOptions', ({ testUpstream }) => ({ testUrl: testUpstream.url }))
  /** A client with a test key of `account`. */
  .extend('tester', async ({ souk, account, testUpstream }) => {
    knowsTestProducts(testUpstream);
    return testClientOf(souk, account);
  });

function knowsTestProducts(upstream: ScriptedUpstream): void {
  upstream.calls.length = 0;
  upstream.on(
    'product',
    everyProductWith(() => ({ title: 'Of the demo' })),
  );
}

async function testClientOf(souk: Souk, { accountId }: TestAccount): Promise<Client> {
  return souk.clientOf(await createTestKey(souk.database, accountId, souk.clock.now()));
}

const productOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;
const titleIn = ({ json }: Awaited<ReturnType<Client['get']>>) => json.data.products[0].title;

describe('the same call of a live key and a test key', () => {
  test('gets the data of two providers, and only the test answer is marked', async ({
    souk,
    client,
    tester,
    upstream,
    testUpstream,
  }) => {
    const asin = newAsin();
    const live = await client.get(productOf(asin));
    const tested = await tester.get(productOf(asin));
    expect(titleIn(live)).toBe(`Thing ${asin}`);
    expect(titleIn(tested)).toBe('Of the demo');
    expect(upstream.callsTo('product')).toHaveLength(1);
    expect(testUpstream.callsTo('product')).toHaveLength(1);

    expect(live.headers).not.toHaveProperty('x-livemode');
    expect(live.json).not.toHaveProperty('livemode');
    expect(tested.headers['x-livemode']).toBe('false');
    expect(tested.json).toMatchObject({ livemode: false, code: '0000' });
    expect(souk.events.seen('tokens.spent').map(({ accountId }) => accountId)).toHaveLength(2);
  });

  test('is answered from two caches', async ({ souk, client, tester, upstream, testUpstream }) => {
    const asin = newAsin();
    await client.get(productOf(asin));
    await tester.get(productOf(asin));
    const others = await souk.account();
    const live = await souk.clientOf(others.key).get(productOf(asin));
    const tested = await (await testClientOf(souk, others)).get(productOf(asin));
    expect(live.headers['x-cache']).toBe('HIT');
    expect(titleIn(live)).toBe(`Thing ${asin}`);
    expect(tested.headers['x-cache']).toBe('HIT');
    expect(titleIn(tested)).toBe('Of the demo');
    expect(tested.json).toMatchObject({ livemode: false });
    expect([upstream, testUpstream].map((one) => one.callsTo('product').length)).toEqual([1, 1]);
  });

  test('is charged to two wallets', async ({ souk, account, client, tester }) => {
    const asin = newAsin();
    await client.get(productOf(asin));
    await tester.get(productOf(asin));
    await tester.get(productOf(newAsin()));
    const { rows: used } = await souk.database.query(
      `select account_id, sum(units)::integer as units from ledger where account_id = any($1) and kind = 'reserve' group by 1 order by 1`,
      [[account.accountId, testAccountOf(account.accountId)]],
    );
    expect(used).toEqual([
      { account_id: account.accountId, units: 1 },
      { account_id: testAccountOf(account.accountId), units: 2 },
    ]);
    const { general } = (await tester.get('/api/quota')).json.data;
    expect(general).toMatchObject({
      plan: { name: 'Test mode' },
      daily: { limit: TEST_UNITS_PER_DAY, used: 2 },
    });
  });

  test('shares a flight only with calls of its mode', async ({ client, tester, upstream, testUpstream }) => {
    const release = holdProducts(upstream);
    const asin = newAsin();
    const live = client.get(productOf(asin));
    await upstream.received(1, 'product');
    expect(titleIn(await tester.get(productOf(asin)))).toBe('Of the demo');
    expect(testUpstream.callsTo('product')).toHaveLength(1);
    release();
    expect(titleIn(await live)).toBe(`Thing ${asin}`);
  });
});

test('a test account has no access to jobs, batches and schedules of the live account, and the reverse', async ({
  client,
  tester,
}) => {
  for (const [owner, other] of [
    [client, tester],
    [tester, client],
  ] as const) {
    const { data: job } = (await owner.get(`${productOf(newAsin())}&async=true`)).json;
    const { batchId } = await startBatch(owner, {
      operation: 'market.product',
      items: [{ domain: 1, asin: newAsin() }],
    });
    const { scheduleId } = await createSchedule(owner, productsHourly([newAsin()]));
    const paths = [`/api/jobs/${job.jobId}`, `/api/batches/${batchId}`, `/api/schedules/${scheduleId}`];
    for (const path of paths) {
      expect((await owner.get(path)).status).toBe(200);
      expect((await other.get(path)).status).toBe(404);
    }
  }
});

test('a batch of a test account is answered by the demo provider, and its webhook is marked', async ({
  souk,
  tester,
  upstream,
}) => {
  await tester.post('/api/webhooks/secret', {});
  const batch = await startBatch(tester, {
    operation: 'market.product',
    items: [newAsin(), newAsin()].map((asin, i) => ({ domain: 1, asin, history: i })),
    webhook: 'https://example.com/hook',
  });
  const { finishedAt, resultsUntil } = await batchOnce(souk, tester, batch, isFinished);
  const lines = linesOf(await tester.get(`/api/batches/${batch.batchId}/results`));
  expect(lines.map(({ data }) => data.products[0].title)).toEqual(['Of the demo', 'Of the demo']);
  expect(upstream.callsTo('product')).toHaveLength(0);
  expect(souk.events.seen('job.started', { pool: 'market' }).length).toBeGreaterThan(0);
  const { rows } = await souk.database.query<{ payload: string }>(
    `select payload from outbox where kind = 'batch.completed' order by created_at desc limit 1`,
  );
  expect(JSON.parse(rows[0]?.payload ?? '')).toMatchObject({ type: 'batch.completed', livemode: false });

  const until = Date.parse(String(finishedAt)) + TEST_RESULTS_LIFETIME_MS;
  expect(Date.parse(String(resultsUntil))).toBe(until);
  await dropOldBatches(souk.database, until - 1);
  expect((await tester.get(`/api/batches/${batch.batchId}`)).status).toBe(200);
  await dropOldBatches(souk.database, until);
  expect((await tester.get(`/api/batches/${batch.batchId}`)).status).toBe(404);
});

test('test calls that occupy all slots of their pool delay no live call', async ({
  client,
  tester,
  testUpstream,
}) => {
  const { concurrency } = POOLS[TEST_POOL];
  const release = holdProducts(testUpstream);
  const tested = Array.from({ length: concurrency + 2 }, () => tester.get(productOf(newAsin())));
  await testUpstream.received(concurrency, 'product');
  expect((await client.get(productOf(newAsin()))).status).toBe(200);
  expect(testUpstream.callsTo('product')).toHaveLength(concurrency);
  release();
  for (const { status } of await Promise.all(tested)) expect(status).toBe(200);
});

test('a test account has at most five schedules', async ({ tester }) => {
  for (let i = 0; i < 5; i += 1) await createSchedule(tester, productsHourly([newAsin()]));
  const { status, json } = await tester.post('/api/schedules', productsHourly([newAsin()]));
  expect(status).toBe(429);
  expect(json).toMatchObject({ livemode: false, code: 'LIMIT_REACHED', metadata: { limit: 5 } });
});

test('marks errors of test keys', async ({ tester }) => {
  const { json, status, headers } = await tester.get('/api/market/product?domain=77&asins=B000000001');
  expect(status).toBe(400);
  expect(json).toMatchObject({ livemode: false, code: 'VALIDATION_FAILED' });
  expect(headers['x-livemode']).toBe('false');
});

test('a service without test mode refuses a test key with 401', async ({ openAnother }) => {
  const souk = await openAnother({ workers: 0 });
  const tester = await testClientOf(souk, await souk.account());
  const { status, json } = await tester.get('/api/quota');
  expect(status).toBe(401);
  expect(json).toMatchObject({ code: '4001', msg: expect.stringContaining('does not accept test keys') });
});

test('metrics and usage statistics leave out events of test accounts', () => {
  const seen: CallEvent[] = [];
  const sink = ofLiveCalls((event) => void seen.push(event));
  const spent = { type: 'tokens.spent', operation: 'market.product', callId: 'a', tokens: 1 } as const;
  sink({ ...spent, accountId: 7 });
  sink({ ...spent, accountId: testAccountOf(7) });
  sink({ type: 'request.refused', error: 'NOT_FOUND' });
  expect(seen).toEqual([
    { ...spent, accountId: 7 },
    { type: 'request.refused', error: 'NOT_FOUND' },
  ]);
});
