import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { knowsEveryProduct, newAsin } from '../support/answers.ts';
import { asinsFrom, batchNow, batchOnce, resultsOf, startBatch } from '../support/batches.ts';
import { balancesFromLedger, keptBalances } from '../support/books.ts';
import type { Client } from '../support/client.ts';
import { gate } from '../support/scripted-upstream.ts';
import { openSouk, type Souk, showLogOnFailure } from '../support/souk.ts';
import { unitsUsed } from '../support/units.ts';

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
const codesOf = async (batch: { batchId: string }) =>
  (await resultsOf(client, batch)).map(({ code }) => code);

/** Upstream fails for some ASINs, as long as `isBroken` says so. */
function failFor(broken: readonly string[], isBroken = () => true) {
  souk.upstream.on('product', (call, response) => {
    const { asin = '' } = call.params;
    if (isBroken() && broken.some((one) => asin.includes(one)))
      return { status: 400, json: { error: { type: 'invalidParameter' } } };
    return knowsEveryProduct(call, response);
  });
}

function holdUpstream() {
  const held = gate();
  letGo = held.open;
  souk.upstream.on('product', async (...call) => {
    await held.reached;
    return knowsEveryProduct(...call);
  });
  return held;
}

async function booksAgree(): Promise<void> {
  const now = souk.clock.now();
  expect(await keptBalances(souk.database, accountId, now)).toEqual(
    await balancesFromLedger(souk.database, accountId, now),
  );
}

test('a call that fails is tried again after pauses, by new calls, and its batch ends well', async () => {
  const asins = asinsFrom('B0PASS', 3);
  let failures = 2;
  souk.upstream.on('product', (call, response) => {
    if (call.params.asin === asins[1] && failures > 0) {
      failures -= 1;
      return { status: 400, json: { error: { type: 'invalidParameter' } } };
    }
    return knowsEveryProduct(call, response);
  });
  const batch = await startBatch(client, callsOf(asins));
  const first = await batchOnce(
    souk,
    client,
    batch,
    ({ counts }) => counts.done === 2 && counts.running === 0,
    10,
  );
  expect(first).toMatchObject({
    state: 'running',
    counts: { pending: 1, failed: 0 },
    units: { reserved: 0 },
  });
  const attempts = () => asked().filter((asin) => asin === asins[1]).length;
  expect(attempts()).toBe(1);
  const startedAt = souk.clock.now();
  await batchOnce(souk, client, batch, () => attempts() === 2, 1_000);
  expect(souk.clock.now() - startedAt).toBeGreaterThanOrEqual(14_000);
  await batchOnce(souk, client, batch, () => attempts() === 3, 1_000);
  expect(souk.clock.now() - startedAt).toBeGreaterThanOrEqual(74_000);
  const after = await batchOnce(souk, client, batch, isFinished);
  expect(after).toMatchObject({ state: 'done', counts: { done: 3, failed: 0 }, units: { charged: 3 } });
  expect(await unitsUsed(client)).toBe(3);
  const { rows } = await souk.database.query(
    "select count(*)::integer as calls, count(distinct id)::integer as ids from calls where state = 'released'",
  );
  expect(rows).toEqual([{ calls: 2, ids: 2 }]);
  await booksAgree();
});

test('after four attempts a call has failed: its items say why, and cost nothing', async () => {
  const asins = asinsFrom('B0FAIL', 4);
  failFor(asins.slice(0, 1));
  const body = {
    operation,
    items: [
      { domain: 1, asin: asins[0] },
      { domain: 1, asin: asins[1] },
      { domain: 1, asin: asins[2], history: 0 },
      { domain: 1, asin: asins[3], history: 0 },
    ],
  };
  const batch = await startBatch(client, body);
  const after = await batchOnce(souk, client, batch, isFinished, 5_000);
  expect(after).toMatchObject({
    state: 'done',
    counts: { done: 2, failed: 2, pending: 0, running: 0 },
    units: { quoted: 4, charged: 2, reserved: 0 },
  });
  expect(asked().filter((asked) => asked?.includes(asins[0] ?? ''))).toHaveLength(4);
  const lines = await resultsOf(client, batch);
  expect(lines.map(({ code, params }) => [code, params])).toEqual(
    body.items.map((item, i) => [i < 2 ? 'UPSTREAM_ERROR' : '0000', item]),
  );
  expect(lines[0]?.msg).toMatch(/data provider/);
  expect(await unitsUsed(client)).toBe(2);
  await booksAgree();
});

test('what upstream does not know is a result, and no failure', async () => {
  souk.upstream.on('product', () => ({ json: { products: [] } }));
  const batch = await startBatch(client, callsOf(asinsFrom('B0NONE', 2)));
  const after = await batchOnce(souk, client, batch, isFinished, 100);
  expect(after).toMatchObject({ counts: { done: 2, failed: 0 }, units: { charged: 2 } });
  const [line] = await resultsOf(client, batch);
  expect(line).toMatchObject({
    code: '0000',
    data: { count: 0, errors: [{ asin: 'B0NONE0000', errorId: 'PRODUCT_NOT_FOUND' }] },
  });
  const retried = await client.post(`/api/batches/${batch.batchId}/retry`, {});
  expect([retried.status, retried.json.code]).toEqual([409, 'BATCH_STATE']);
});

test('a retry runs what has failed, charges that alone, and keeps what was there', async () => {
  const asins = asinsFrom('B0RETRY', 5);
  let isBroken = true;
  failFor([asins[1] ?? '', asins[3] ?? ''], () => isBroken);
  const batch = await startBatch(client, callsOf(asins));
  await batchOnce(souk, client, batch, isFinished, 5_000);
  expect(await codesOf(batch)).toEqual(['0000', 'UPSTREAM_ERROR', '0000', 'UPSTREAM_ERROR', '0000']);
  isBroken = false;
  souk.upstream.calls.length = 0;
  const reply = await client.post(`/api/batches/${batch.batchId}/retry`, {});
  expect(reply.status).toBe(202);
  expect(reply.json.data).toMatchObject({ finishedAt: null, resultsUntil: null, counts: { failed: 0 } });
  const after = await batchOnce(souk, client, batch, isFinished, 100);
  expect(after).toMatchObject({ state: 'done', counts: { done: 5, failed: 0 }, units: { charged: 5 } });
  expect(new Set(asked())).toEqual(new Set([asins[1], asins[3]]));
  expect(asked()).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(5);
  expect((await resultsOf(client, batch)).map(({ data }) => data.products[0].asin)).toEqual(asins);
  // In the order of ends, what was retried comes last.
  const finishedLast = (await resultsOf(client, batch, '?order=finished')).slice(-2);
  expect(new Set(finishedLast.map(({ index }) => index))).toEqual(new Set([1, 3]));
  await booksAgree();
});

test('what runs, is waiting, was cancelled or has not failed cannot be retried', async () => {
  const held = holdUpstream();
  const running = await startBatch(client, callsOf(asinsFrom('B0STATE', 2)));
  const retry = async ({ batchId }: { batchId: string }) =>
    (await client.post(`/api/batches/${batchId}/retry`, {})).json;
  expect(await retry(running)).toMatchObject({ code: 'BATCH_STATE', msg: 'The batch is not finished.' });
  held.open();
  await batchOnce(souk, client, running, isFinished, 100);
  expect(await retry(running)).toMatchObject({
    code: 'BATCH_STATE',
    msg: 'No item of the batch has failed.',
  });
  const waiting = await startBatch(client, { ...callsOf(['B0STATEW01']), window: 'off_peak' });
  expect(await retry(waiting)).toMatchObject({ code: 'BATCH_STATE' });
  await client.get(`/api/batches/${waiting.batchId}`, { method: 'DELETE' });
  expect(await retry(waiting)).toMatchObject({ code: 'BATCH_STATE', msg: 'The batch is cancelled.' });
});

test('at its deadline a batch expires: what is left is not done, costs nothing and says so', async () => {
  holdUpstream();
  const deadline = new Date(souk.clock.now() + 40_000).toISOString();
  const batch = await startBatch(client, { ...callsOf(asinsFrom('B0LATE', 40)), deadline });
  await souk.upstream.received(16);
  expect(await unitsUsed(client)).toBe(16);
  const after = await batchOnce(souk, client, batch, isFinished, 2_000);
  expect(after).toMatchObject({
    state: 'expired',
    counts: { failed: 40, done: 0, pending: 0, running: 0 },
    units: { charged: 0, reserved: 0 },
  });
  expect(new Set(await codesOf(batch))).toEqual(new Set(['DEADLINE_PASSED']));
  expect(souk.upstream.callsTo('product')).toHaveLength(16);
  expect(await unitsUsed(client)).toBe(0);
  await booksAgree();
  // It can be had again, with time anew.
  letGo();
  souk.upstream.on('product', knowsEveryProduct);
  const retried = await client.post(`/api/batches/${batch.batchId}/retry`, {});
  expect(retried.json.data.deadlineAt).toBe(new Date(souk.clock.now() + 7 * 86_400_000).toISOString());
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({
    state: 'done',
    counts: { done: 40 },
  });
});

test('a batch that waits expires at its deadline, too', async () => {
  const poor = await souk.client({ plan: { dailyLimit: 2 } });
  const deadline = new Date(souk.clock.now() + 3_600_000).toISOString();
  const batch = await startBatch(poor, { ...callsOf(asinsFrom('B0POOR', 3)), deadline });
  await batchOnce(souk, poor, batch, ({ state }) => state === 'waiting', 10);
  souk.clock.advance(3_590_000);
  const after = await batchOnce(souk, poor, batch, isFinished);
  expect(after).toMatchObject({ state: 'expired', waiting: null, counts: { done: 2, failed: 1 } });
});

test('cancelled, what is pending never runs, what runs is stopped, and all of it is given back', async () => {
  holdUpstream();
  const batch = await startBatch(client, callsOf(asinsFrom('B0CANCL', 40)));
  await batchOnce(souk, client, batch, () => souk.upstream.calls.length === 16, 10);
  const reply = await client.get(`/api/batches/${batch.batchId}`, { method: 'DELETE' });
  expect(reply.status).toBe(200);
  expect(reply.json.data).toMatchObject({ state: 'cancelled', counts: { cancelled: 24, running: 16 } });
  const after = await batchOnce(souk, client, batch, isFinished, 100);
  expect(after).toMatchObject({
    state: 'cancelled',
    counts: { cancelled: 40, done: 0, failed: 0, running: 0, pending: 0 },
    units: { charged: 0, reserved: 0 },
  });
  await expect.poll(() => souk.upstream.calls.every(({ aborted }) => aborted)).toBe(true);
  expect(souk.upstream.calls).toHaveLength(16);
  expect(new Set(await codesOf(batch))).toEqual(new Set(['CANCELLED']));
  expect(await unitsUsed(client)).toBe(0);
  await booksAgree();
  // Once more changes nothing.
  const again = await client.get(`/api/batches/${batch.batchId}`, { method: 'DELETE' });
  expect(again.json.data).toMatchObject({ state: 'cancelled', finishedAt: after.finishedAt });
});

test('results that were there before a cancellation stay, and are paid for', async () => {
  const asins = asinsFrom('B0HALFWY', 2);
  const held = gate();
  letGo = held.open;
  souk.upstream.on('product', async (call, response) => {
    if (call.params.asin === asins[1]) await held.reached;
    return knowsEveryProduct(call, response);
  });
  const batch = await startBatch(client, callsOf(asins));
  await batchOnce(souk, client, batch, ({ counts }) => counts.done === 1 && counts.running === 1, 10);
  await client.get(`/api/batches/${batch.batchId}`, { method: 'DELETE' });
  const after = await batchOnce(souk, client, batch, isFinished, 100);
  expect(after).toMatchObject({ counts: { done: 1, cancelled: 1 }, units: { charged: 1 } });
  expect(await codesOf(batch)).toEqual(['0000', 'CANCELLED']);
  expect(await unitsUsed(client)).toBe(1);
});

test('a call that somebody waits for goes on when its batch is cancelled', async () => {
  const held = holdUpstream();
  const asin = 'B0SHARED01';
  const batch = await startBatch(client, { operation, items: [{ domain: 1, asin }] });
  await souk.upstream.received(1);
  const interactive = client.get(`/api/market/product?domain=1&asins=${asin}`);
  await expect.poll(joinedCalls).toBe(1);
  await client.get(`/api/batches/${batch.batchId}`, { method: 'DELETE' });
  souk.clock.advance(1_000);
  held.open();
  expect((await interactive).status).toBe(200);
  const after = await batchOnce(souk, client, batch, isFinished, 100);
  // It was done, so it is a result, and paid for by the batch.
  expect(after).toMatchObject({ state: 'cancelled', counts: { done: 1 }, units: { charged: 1 } });
  expect(await unitsUsed(client)).toBe(1);
  expect(souk.upstream.calls).toHaveLength(1);
});

/** Calls which others have joined, as Redis knows. */
async function joinedCalls(): Promise<number> {
  const redis = new Redis(souk.redisUrl);
  try {
    return (await redis.keys(`${souk.redisNamespace}:joined:*`)).length;
  } finally {
    redis.disconnect();
  }
}

test('a batch that joined another call does not end it, and ends without it', async () => {
  const held = holdUpstream();
  const asin = 'B0JOINED01';
  const interactive = client.get(`/api/market/product?domain=1&asins=${asin}`);
  await souk.upstream.received(1);
  const batch = await startBatch(client, { operation, items: [{ domain: 1, asin }] });
  await batchOnce(souk, client, batch, ({ counts }) => counts.running === 1, 10);
  await client.get(`/api/batches/${batch.batchId}`, { method: 'DELETE' });
  expect(await batchOnce(souk, client, batch, isFinished, 100)).toMatchObject({ counts: { cancelled: 1 } });
  held.open();
  expect((await interactive).status).toBe(200);
});

test('a batch whose call was joined to one that its owner cancelled makes another', async () => {
  const held = holdUpstream();
  const [first, second] = [
    await startBatch(client, { operation, items: [{ domain: 1, asin: 'B0TWIN0001' }] }),
    await startBatch(client, { operation, items: [{ domain: 1, asin: 'B0TWIN0001' }] }),
  ];
  await batchOnce(souk, client, second, ({ counts }) => counts.running === 1, 10);
  await client.get(`/api/batches/${first.batchId}`, { method: 'DELETE' });
  await batchOnce(souk, client, first, isFinished, 100);
  held.open();
  const after = await batchOnce(souk, client, second, isFinished);
  expect(after).toMatchObject({ state: 'done', counts: { done: 1, cancelled: 0 } });
  expect(await unitsUsed(client)).toBe(1);
  await booksAgree();
});

test('what is put back into a batch while that is cancelled does not keep it open', async () => {
  const batch = await startBatch(client, { ...callsOf(['B0LEFT0001', 'B0LEFT0002']), window: 'off_peak' });
  await client.get(`/api/batches/${batch.batchId}`, { method: 'DELETE' });
  // As a feeder leaves it that was refused at the very moment of the cancellation.
  await souk.database.query(
    "update batches set finished_at = null, cancelled_items = 1 where state = 'cancelled'",
  );
  await souk.database.query(
    "update batch_calls set state = 'pending', error = null, end_no = null, ended_at = null where first_item = 1",
  );
  const after = await batchOnce(souk, client, batch, isFinished);
  expect(after).toMatchObject({ state: 'cancelled', counts: { cancelled: 2, pending: 0 } });
  expect(souk.upstream.calls).toEqual([]);
});

test('seven days after its end a batch is forgotten', async () => {
  const batch = await startBatch(client, callsOf(['B0WEEK0001']));
  const { resultsUntil } = await batchOnce(souk, client, batch, isFinished, 10);
  expect(resultsUntil).not.toBeNull();
  souk.clock.advance(Date.parse(resultsUntil ?? '') - souk.clock.now() - 120_000);
  souk.clock.advance(1_000);
  expect(await resultsOf(client, batch)).toHaveLength(1);
  const gone = async () => {
    souk.clock.advance(10_000);
    return (await client.get(`/api/batches/${batch.batchId}/results`)).json;
  };
  await expect.poll(() => gone().catch(() => null)).toMatchObject({ code: 'BATCH_NOT_FOUND' });
  expect(souk.clock.now()).toBeGreaterThanOrEqual(Date.parse(resultsUntil ?? ''));
  const { rows } = await souk.database.query('select count(*)::integer as calls from batch_calls');
  expect(rows).toEqual([{ calls: 0 }]);
  expect(await batchNow(client, batch)).toBeNull();
});
