import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { knowsEveryProduct, newAsin } from '../support/answers.ts';
import { asinsFrom, batchOnce, resultsOf, startBatch } from '../support/batches.ts';
import { balancesFromLedger, keptBalances } from '../support/books.ts';
import type { Client } from '../support/client.ts';
import { gate } from '../support/scripted-upstream.ts';
import { openSouk, type Souk, showLogOnFailure } from '../support/souk.ts';
import { unitsUsed } from '../support/units.ts';
import { loseRedis, stopWorkers } from '../support/workers.ts';

// A batch passes through much work and much time.
vi.setConfig({ testTimeout: 60_000 });

let souk: Souk;
let client: Client;
let accountId: number;
let letGo = () => {};
beforeEach(async () => {
  souk = await openSouk();
  souk.upstream.on('product', knowsEveryProduct);
  const account = await souk.account();
  client = souk.clientOf(account.key);
  accountId = account.accountId;
  // While nothing is known of the tokens only a few calls may be under way.
  await (await souk.client()).get(`/api/market/product?domain=1&asins=${newAsin()}`);
  souk.upstream.calls.length = 0;
  showLogOnFailure(souk);
});
afterEach(async () => {
  letGo();
  await souk.close();
});

const operation = 'market.product';
/** Alternating options, so that each item is a call of its own. */
const callsOf = (asins: readonly string[]) => ({
  operation,
  items: asins.map((asin, i) => ({ domain: 1, asin, history: i % 2 })),
});
const isFinished = ({ finishedAt }: { finishedAt: string | null }) => finishedAt !== null;
const asked = () => souk.upstream.callsTo('product').map(({ params }) => params.asin);

/** Upstream was asked for each of these once, in whatever order. */
function expectEachOnce(asins: readonly string[]): void {
  expect(asked()).toHaveLength(asins.length);
  expect(new Set(asked())).toEqual(new Set(asins));
}

/** Holds every call from the nth on. */
function holdFrom(nth: number) {
  const held = gate();
  letGo = held.open;
  let calls = 0;
  souk.upstream.on('product', async (...call) => {
    calls += 1;
    if (calls >= nth) await held.reached;
    return knowsEveryProduct(...call);
  });
  return held;
}

/** All items have ended well, each once, and the books agree with each other and with the batch. */
async function endsWell(batch: { batchId: string }, asins: readonly string[]): Promise<void> {
  const after = await batchOnce(souk, client, batch, isFinished);
  expect(after).toMatchObject({
    state: 'done',
    counts: { done: asins.length, failed: 0, running: 0, pending: 0 },
    units: { charged: asins.length, reserved: 0 },
  });
  const lines = await resultsOf(client, batch);
  expect(lines.map(({ data }) => data.products[0].asin)).toEqual(asins);
  expect(await unitsUsed(client)).toBe(asins.length);
  const now = souk.clock.now();
  expect(await keptBalances(souk.database, accountId, now)).toEqual(
    await balancesFromLedger(souk.database, accountId, now),
  );
}

test('two workers that feed the same batches feed no call twice', async () => {
  await souk.addWorker();
  const batches: [{ batchId: string }, string[]][] = [];
  for (const prefix of ['B0TWOA', 'B0TWOB', 'B0TWOC']) {
    const asins = asinsFrom(prefix, 30);
    batches.push([await startBatch(client, callsOf(asins)), asins]);
  }
  for (const [batch, asins] of batches) {
    await batchOnce(souk, client, batch, isFinished, 10);
    expect((await resultsOf(client, batch)).map(({ data }) => data.products[0].asin)).toEqual(asins);
  }
  expectEachOnce(batches.flatMap(([, asins]) => asins));
  expect(await unitsUsed(client)).toBe(90);
  const { rows } = await souk.database.query('select count(*)::integer as calls from calls where background');
  expect(rows).toEqual([{ calls: 90 }]);
});

test('a worker that stops in the middle leaves its batches to the next', async () => {
  const asins = asinsFrom('B0WORKER', 40);
  const held = holdFrom(10);
  const batch = await startBatch(client, callsOf(asins));
  await batchOnce(souk, client, batch, ({ counts }) => counts.done === 9 && counts.running === 16, 10);
  let stopped = false;
  const stopping = stopWorkers(souk).finally(() => {
    stopped = true;
  });
  await expect
    .poll(() => {
      souk.clock.advance(1_000);
      return stopped;
    })
    .toBe(true);
  await stopping;
  held.open();
  await souk.addWorker();
  await endsWell(batch, asins);
});

test('a gateway has no part in a batch that is under way', async () => {
  const asins = asinsFrom('B0GATE', 40);
  const held = holdFrom(10);
  const batch = await startBatch(client, callsOf(asins));
  await batchOnce(souk, client, batch, ({ counts }) => counts.done === 9, 10);
  await Promise.all(souk.gateways.splice(0).map((gateway) => gateway.close()));
  held.open();
  await souk.addGateway();
  client = souk.clientOf(client.key);
  await endsWell(batch, asins);
});

test('a Redis that is lost in the middle costs work, and neither items nor units', async () => {
  const asins = asinsFrom('B0FLUSH', 40);
  const held = holdFrom(10);
  const batch = await startBatch(client, callsOf(asins));
  await batchOnce(souk, client, batch, ({ counts }) => counts.done === 9 && counts.running === 16, 10);
  expect(await loseRedis(souk)).toBeGreaterThan(0);
  held.open();
  await endsWell(batch, asins);
});

test('an answer that Redis has lost before it was collected is made again for nothing', async () => {
  const asins = asinsFrom('B0ANSLOST', 1);
  const held = holdFrom(1);
  const batch = await startBatch(client, callsOf(asins));
  await souk.upstream.received(1);
  // Nobody collects while nobody feeds: only the workers of the other pools are there.
  const [withBatches] = souk.workers.splice(0);
  await souk.addWorker(['market']);
  held.open();
  let stopped = false;
  void withBatches?.close().finally(() => {
    stopped = true;
  });
  const settled = async () => {
    souk.clock.advance(1_000);
    const { rows } = await souk.database.query("select 1 from calls where background and state = 'settled'");
    return stopped && rows.length === 1;
  };
  await expect.poll(settled).toBe(true);
  const { rows } = await souk.database.query('select state from batch_calls');
  if (rows[0].state === 'fed') {
    await loseRedis(souk, `${souk.redisNamespace}:answer:*`);
    await loseRedis(souk, `${souk.redisNamespace}:source:*`);
  }
  await souk.addWorker();
  await endsWell(batch, asins);
});

test('a call that was taken and never admitted, because its worker died, is admitted once', async () => {
  const asins = asinsFrom('B0TAKEN', 2);
  const batch = await startBatch(client, { ...callsOf(asins), window: 'off_peak' });
  await batchOnce(souk, client, batch, ({ state }) => state === 'waiting', 10);
  // As a worker leaves it that dies between taking a call and having it admitted.
  await souk.database.query(
    `update batch_calls set state = 'fed', call_id = gen_random_uuid(), attempts = 1, fed_at = $1 where first_item = 0`,
    [new Date(souk.clock.now())],
  );
  await souk.database.query(
    "update batches set feed_window = 'any', waiting_until = null, waiting_reason = null",
  );
  await endsWell(batch, asins);
  expectEachOnce(asins);
});

test('a call that can never be collected ends with its batch, and is counted as paid', async () => {
  const deadline = new Date(souk.clock.now() + 300_000).toISOString();
  const held = holdFrom(1);
  const batch = await startBatch(client, { ...callsOf(['B0NEVER001']), deadline });
  await souk.upstream.received(1);
  // An item that the operation does not take any more, though its call was good.
  await souk.database.query(`update batch_calls set items = '[{"domain":1},{"domain":1}]'`);
  held.open();
  // Before time goes on, or the call would run out of it.
  const open = "select 1 from calls where state = 'reserved'";
  await expect.poll(async () => (await souk.database.query(open)).rowCount).toBe(0);
  const after = await batchOnce(souk, client, batch, isFinished, 5_000);
  // At the deadline itself, whoever looks first decides whether it ended by that or by the end of its last call.
  expect(['expired', 'done']).toContain(after.state);
  expect(after).toMatchObject({ units: { charged: 1 } });
  expect(souk.clock.now()).toBeGreaterThanOrEqual(Date.parse(deadline));
  expect(await unitsUsed(client)).toBe(1);
});
