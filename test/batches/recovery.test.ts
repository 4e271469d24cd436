import { expect } from 'vitest';
import { DAY_MS } from '../../src/platform/durations.ts';
import { holdProducts, knowsEveryProduct } from '../support/answers.ts';
import { expectBalancesOfLedger } from '../support/balances.ts';
import {
  asinsFrom,
  batchNow,
  batchOnce,
  callsOf,
  isFinished,
  isWaiting,
  learnTokens,
  resultsOf,
  startBatch,
} from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import { whileLocked } from '../support/locked-account.ts';
import type { ScriptedUpstream } from '../support/scripted-upstream.ts';
import type { Souk, TestAccount } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { endOf } from '../support/time.ts';
import { unitsUsed } from '../support/units.ts';
import { loseRedis, stopWorkers } from '../support/workers.ts';

// Tests that delete Redis also delete the token balance.
test.beforeEach(({ souk, upstream: _ }) => learnTokens(souk));

/** Checks that upstream received one request for each of these ASINs, in any order. */
function expectEachOnce(upstream: ScriptedUpstream, asins: readonly string[]): void {
  const asked = upstream.callsTo('product').map(({ params }) => params.asin);
  expect(asked).toHaveLength(asins.length);
  expect(new Set(asked)).toEqual(new Set(asins));
}

/** Checks that each item has succeeded once, and that the balances agree with the ledger and the batch. */
async function endsWell(
  souk: Souk,
  { accountId, key }: TestAccount,
  batch: { batchId: string },
  asins: readonly string[],
): Promise<void> {
  const client = souk.clientOf(key);
  const after = await batchOnce(souk, client, batch, isFinished);
  expect(after).toMatchObject({
    state: 'done',
    counts: { done: asins.length, failed: 0, running: 0, pending: 0 },
    units: { charged: asins.length, reserved: 0 },
  });
  const lines = await resultsOf(client, batch);
  expect(lines.map(({ data }) => data.products[0].asin)).toEqual(asins);
  expect(await unitsUsed(client)).toBe(asins.length);
  await expectBalancesOfLedger(souk, accountId);
}

/** Stops the workers while time moves on: a worker waits some time for its jobs. */
async function stopWorkersInTime(souk: Souk): Promise<void> {
  await endOf(souk.clock, stopWorkers(souk), 1_000);
}

test('two workers submit each call of the same batches once', async ({ souk, account, client, upstream }) => {
  const second = await souk.addWorker();
  const batches: [{ batchId: string }, string[]][] = [];
  for (const prefix of ['B0TWOA', 'B0TWOB', 'B0TWOC']) {
    const asins = asinsFrom(prefix, 30);
    batches.push([await startBatch(client, callsOf(asins)), asins]);
  }
  for (const [batch, asins] of batches) {
    await batchOnce(souk, client, batch, isFinished, 10);
    expect((await resultsOf(client, batch)).map(({ data }) => data.products[0].asin)).toEqual(asins);
  }
  expectEachOnce(
    upstream,
    batches.flatMap(([, asins]) => asins),
  );
  expect(await unitsUsed(client)).toBe(90);
  const ofBatches = 'select 1 from calls where background and account_id = $1';
  expect((await souk.database.query(ofBatches, [account.accountId])).rowCount).toBe(90);
  souk.workers.splice(souk.workers.indexOf(second), 1);
  await second.close();
});

test('the next worker finishes the batch of one that stops', async ({ souk, account, client, upstream }) => {
  const asins = asinsFrom('B0WORKER', 40);
  const open = holdProducts(upstream, 10);
  const batch = await startBatch(client, callsOf(asins));
  await batchOnce(souk, client, batch, ({ counts }) => counts.done === 9 && counts.running === 16, 10);
  await stopWorkersInTime(souk);
  open();
  await souk.addWorker();
  await endsWell(souk, account, batch, asins);
});

test('a batch continues while no gateway runs', async ({ souk, account, client, upstream }) => {
  const asins = asinsFrom('B0GATE', 40);
  const open = holdProducts(upstream, 10);
  const batch = await startBatch(client, callsOf(asins));
  await batchOnce(souk, client, batch, ({ counts }) => counts.done === 9, 10);
  await Promise.all(souk.gateways.splice(0).map((gateway) => gateway.close()));
  open();
  await souk.addGateway();
  await endsWell(souk, account, batch, asins);
});

test('a batch loses nothing when Redis loses its data', async ({ souk, account, client, upstream }) => {
  const asins = asinsFrom('B0FLUSH', 40);
  const open = holdProducts(upstream, 10);
  const batch = await startBatch(client, callsOf(asins));
  await batchOnce(souk, client, batch, ({ counts }) => counts.done === 9 && counts.running === 16, 10);
  expect(await loseRedis(souk)).toBeGreaterThan(0);
  open();
  await endsWell(souk, account, batch, asins);
});

test('an answer that Redis loses before it is collected is made again without a charge', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const asins = asinsFrom('B0ANSLOST', 1);
  const open = holdProducts(upstream, 1);
  const batch = await startBatch(client, callsOf(asins));
  await upstream.received(1);
  // Without a worker of the pool `batch` no result is collected.
  const [withBatches] = souk.workers.splice(0);
  const withoutBatches = await souk.addWorker(['market']);
  open();
  let stopped = false;
  void withBatches?.close().finally(() => {
    stopped = true;
  });
  const settled = async () => {
    souk.clock.advance(1_000);
    return stopped && souk.events.seen('call.settled', { accountId: account.accountId }).length === 1;
  };
  await expect.poll(settled).toBe(true);
  const ofBatch = 'select state from batch_calls where batch_id = $1';
  const { rows } = await souk.database.query(ofBatch, [batch.batchId]);
  if (rows[0].state === 'fed') {
    await loseRedis(souk, `${souk.redisNamespace}:answer:*`);
    await loseRedis(souk, `${souk.redisNamespace}:source:*`);
  }
  await souk.addWorker();
  await endsWell(souk, account, batch, asins);
  souk.workers.splice(souk.workers.indexOf(withoutBatches), 1);
  await withoutBatches.close();
});

/** Starts a batch, and leaves a call as a worker does that dies between taking the call and its admission. */
async function batchWithTakenCall(souk: Souk, client: Client, asins: readonly string[]) {
  // At midnight UTC the window is closed.
  souk.clock.advance(DAY_MS - (souk.clock.now() % DAY_MS));
  const batch = await startBatch(client, { ...callsOf(asins), window: 'off_peak' });
  await batchOnce(souk, client, batch, isWaiting, 10);
  await souk.database.query(
    `update batch_calls set state = 'fed', call_id = gen_random_uuid(), attempts = 1, fed_at = $1
     where batch_id = $2 and first_item = 0`,
    [new Date(souk.clock.now()), batch.batchId],
  );
  return batch;
}

test('a call that a worker took and did not admit before it died is admitted once', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const asins = asinsFrom('B0TAKEN', 2);
  const batch = await batchWithTakenCall(souk, client, asins);
  await souk.database.query(
    `update batches set feed_window = 'any', waiting_until = null, waiting_reason = null where id = $1`,
    [batch.batchId],
  );
  await endsWell(souk, account, batch, asins);
  expectEachOnce(upstream, asins);
});

test('a call that a worker took and did not admit before its batch was cancelled is not made', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const asins = asinsFrom('B0UNMADE', 2);
  const batch = await batchWithTakenCall(souk, client, asins);
  await client.get(`/api/batches/${batch.batchId}`, { method: 'DELETE' });
  const after = await batchOnce(souk, client, batch, isFinished);
  expect(after).toMatchObject({
    state: 'cancelled',
    counts: { cancelled: 2, done: 0 },
    units: { charged: 0 },
  });
  expect((await resultsOf(client, batch)).map(({ code }) => code)).toEqual(['CANCELLED', 'CANCELLED']);
  expectEachOnce(upstream, []);
  expect(await unitsUsed(client)).toBe(0);
  await expectBalancesOfLedger(souk, account.accountId);
});

test('a call whose admission ends without a decision keeps its id, and is admitted and charged once', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const asins = asinsFrom('B0LOCKED', 1);
  // At midnight UTC the window is closed.
  souk.clock.advance(DAY_MS - (souk.clock.now() % DAY_MS));
  const batch = await startBatch(client, { ...callsOf(asins), window: 'off_peak' });
  await batchOnce(souk, client, batch, isWaiting, 10);
  const callNow = async () => {
    const { rows } = await souk.database.query(
      'select state, call_id as "callId" from batch_calls where batch_id = $1',
      [batch.batchId],
    );
    return rows[0] as { state: string; callId: string };
  };
  const refused = await whileLocked(souk.database, account, async () => {
    await souk.database.query(
      `update batches set feed_window = 'any', waiting_until = null, waiting_reason = null where id = $1`,
      [batch.batchId],
    );
    const isRefused = () => {
      souk.clock.advance(1_000);
      return souk.events.seen('call.refused', { error: 'BUSY' }).length > 0;
    };
    await expect.poll(isRefused).toBe(true);
    return callNow();
  });
  expect(refused).toMatchObject({ state: 'fed', callId: expect.any(String) });
  await endsWell(souk, account, batch, asins);
  expect(await callNow()).toEqual({ state: 'done', callId: refused.callId });
  expectEachOnce(upstream, asins);
});

test('refunds a call whose answer cannot be collected, and charges it once after a retry', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const deadline = new Date(souk.clock.now() + 300_000).toISOString();
  const open = holdProducts(upstream, 1);
  const items = asinsFrom('B0NEVER', 2).map((asin) => ({ domain: 1, asin }));
  const batch = await startBatch(client, { operation: 'market.product', items, deadline });
  const setItems = (stored: unknown[]) =>
    souk.database.query('update batch_calls set items = $2 where batch_id = $1', [
      batch.batchId,
      JSON.stringify(stored),
    ]);
  await upstream.received(1);
  // The operation does not accept these items any more, although it accepted the call.
  await setItems([{ domain: 1 }, { domain: 1 }]);
  const settled = souk.events.next('call.settled', { operation: 'market.product' });
  open();
  // The clock must not move earlier, because the call would reach its deadline.
  await settled;
  const after = await batchOnce(souk, client, batch, isFinished, 5_000);
  // At the deadline, the batch ends by the deadline or by the end of its last call, depending on which the worker sees first.
  expect(['expired', 'done']).toContain(after.state);
  expect(after).toMatchObject({ counts: { failed: 2 }, units: { charged: 0 } });
  expect(souk.clock.now()).toBeGreaterThanOrEqual(Date.parse(deadline));
  expect(await unitsUsed(client)).toBe(0);
  await expectBalancesOfLedger(souk, account.accountId);
  await setItems(items);
  expect((await client.post(`/api/batches/${batch.batchId}/retry`, {})).status).toBe(202);
  const again = await batchOnce(souk, client, batch, isFinished);
  expect(again).toMatchObject({ counts: { done: 2, failed: 0 }, units: { charged: 2 } });
  expect(await unitsUsed(client)).toBe(2);
});

test('a refund of a call that its batch has collected lowers the charge of the batch', async ({
  souk,
  account,
  client,
  upstream,
}) => {
  const batch = await startBatch(client, callsOf(['B0BATREF01']));
  await batchOnce(souk, client, batch, isFinished, 10);
  await loseRedis(souk, `${souk.redisNamespace}:answer:*`);
  await loseRedis(souk, `${souk.redisNamespace}:source:*`);
  upstream.on('product', () => ({ status: 400, json: { error: { type: 'invalidParameter' } } }));
  const joined = await client.get('/api/market/product?domain=1&asins=B0BATREF01&history=0');
  expect([joined.status, joined.headers['x-units-consumed']]).toEqual([502, '0']);
  upstream.on('product', knowsEveryProduct);
  expect(await batchNow(client, batch)).toMatchObject({ counts: { done: 1 }, units: { charged: 0 } });
  expect(await resultsOf(client, batch)).toHaveLength(1);
  expect(await unitsUsed(client)).toBe(0);
  await expectBalancesOfLedger(souk, account.accountId);
});
