import { expect, vi } from 'vitest';
import { FREE_BATCHES_KEPT } from '../../src/batches/create-batch.ts';
import { DAY_MS, WEEK_MS } from '../../src/platform/durations.ts';
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
import type { ScriptedUpstream } from '../support/scripted-upstream.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

const operation = 'market.product';

test.beforeAll(({ souk }) => learnTokens(souk));

const asked = (upstream: ScriptedUpstream) => upstream.callsTo('product').map(({ params }) => params.asin);
const codesOf = async (client: Client, batch: { batchId: string }) =>
  (await resultsOf(client, batch)).map(({ code }) => code);
const cancelBatch = (client: Client, { batchId }: { batchId: string }) =>
  client.get(`/api/batches/${batchId}`, { method: 'DELETE' });
const retryBatch = (client: Client, { batchId }: { batchId: string }, query = '') =>
  client.post(`/api/batches/${batchId}/retry${query}`, {});

/** Upstream fails for some ASINs as long as `isBroken` returns true. */
function failFor(upstream: ScriptedUpstream, broken: readonly string[], isBroken = () => true) {
  upstream.on('product', (call, response) => {
    const { asin = '' } = call.params;
    if (isBroken() && broken.some((one) => asin.includes(one)))
      return { status: 400, json: { error: { type: 'invalidParameter' } } };
    return knowsEveryProduct(call, response);
  });
}

test('retries a failed call after 15 s and 60 s, with a new call each time', async ({
  souk,
  client,
  account,
  upstream,
}) => {
  const asins = asinsFrom('B0PASS', 3);
  let failures = 2;
  upstream.on('product', (call, response) => {
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
  const attempts = () => asked(upstream).filter((asin) => asin === asins[1]).length;
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
    `select count(*)::integer as calls, count(distinct id)::integer as ids from calls
     where state = 'released' and account_id = $1`,
    [account.accountId],
  );
  expect(rows).toEqual([{ calls: 2, ids: 2 }]);
  await expectBalancesOfLedger(souk, account.accountId);
});

test('fails the items of a call after four attempts, with the error and without a charge', async ({
  souk,
  client,
  account,
  upstream,
}) => {
  const asins = asinsFrom('B0FAIL', 4);
  failFor(upstream, asins.slice(0, 2));
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
  expect(asked(upstream).filter((asked) => asked === `${asins[0]},${asins[1]}`)).toHaveLength(4);
  const lines = await resultsOf(client, batch);
  expect(lines.map(({ code, params }) => [code, params])).toEqual(
    body.items.map((item, i) => [i < 2 ? 'UPSTREAM_ERROR' : '0000', item]),
  );
  expect(lines[0]?.msg).toMatch(/data provider/);
  expect(await unitsUsed(client)).toBe(2);
  await expectBalancesOfLedger(souk, account.accountId);
});

test('a product that upstream does not know is a result, no failure', async ({ souk, client, upstream }) => {
  upstream.on('product', () => ({ json: { products: [] } }));
  const batch = await startBatch(client, callsOf(asinsFrom('B0NONE', 2)));
  const after = await batchOnce(souk, client, batch, isFinished, 100);
  expect(after).toMatchObject({ counts: { done: 2, failed: 0 }, units: { charged: 2 } });
  const [line] = await resultsOf(client, batch);
  expect(line).toMatchObject({
    code: '0000',
    data: { count: 0, errors: [{ asin: 'B0NONE0000', errorId: 'PRODUCT_NOT_FOUND' }] },
  });
  const retried = await retryBatch(client, batch);
  expect([retried.status, retried.json.code]).toEqual([409, 'BATCH_STATE']);
});

test('a retry runs and charges only failed items', async ({ souk, client, account, upstream }) => {
  const asins = asinsFrom('B0RETRY', 5);
  let isBroken = true;
  failFor(upstream, [asins[1] ?? '', asins[3] ?? ''], () => isBroken);
  const batch = await startBatch(client, callsOf(asins));
  await batchOnce(souk, client, batch, isFinished, 5_000);
  expect(await codesOf(client, batch)).toEqual(['0000', 'UPSTREAM_ERROR', '0000', 'UPSTREAM_ERROR', '0000']);
  isBroken = false;
  upstream.calls.length = 0;
  const priced = await retryBatch(client, batch, '?dryRun=1');
  expect(priced).toMatchObject({ status: 200, json: { data: { dryRun: true, items: 2, units: 2 } } });
  const reply = await retryBatch(client, batch);
  expect(reply.status).toBe(202);
  expect(reply.json.data).toMatchObject({ finishedAt: null, resultsUntil: null, counts: { failed: 0 } });
  const after = await batchOnce(souk, client, batch, isFinished, 100);
  expect(after).toMatchObject({ state: 'done', counts: { done: 5, failed: 0 }, units: { charged: 5 } });
  expect(new Set(asked(upstream))).toEqual(new Set([asins[1], asins[3]]));
  expect(asked(upstream)).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(5);
  expect((await resultsOf(client, batch)).map(({ data }) => data.products[0].asin)).toEqual(asins);
  // In the order of completion, the retried item is the last one.
  const finishedLast = (await resultsOf(client, batch, '?order=finished')).slice(-2);
  expect(new Set(finishedLast.map(({ index }) => index))).toEqual(new Set([1, 3]));
  await expectBalancesOfLedger(souk, account.accountId);
});

test('refuses to retry a batch that runs, waits, is cancelled or has no failed items', async ({
  souk,
  client,
  upstream,
}) => {
  const open = holdProducts(upstream);
  const running = await startBatch(client, callsOf(asinsFrom('B0STATE', 2)));
  const retry = async (batch: { batchId: string }) => {
    const { json } = await retryBatch(client, batch);
    expect((await retryBatch(client, batch, '?dryRun=1')).json).toMatchObject({
      code: json.code,
      msg: json.msg,
    });
    return json;
  };
  expect(await retry(running)).toMatchObject({
    code: 'BATCH_STATE',
    msg: 'The batch cannot be retried: it is not finished.',
  });
  open();
  await batchOnce(souk, client, running, isFinished, 100);
  expect(await retry(running)).toMatchObject({
    code: 'BATCH_STATE',
    msg: 'The batch has no failed items to retry.',
  });
  const waiting = await startBatch(client, { ...callsOf(['B0STATEW01']), window: 'off_peak' });
  expect(await retry(waiting)).toMatchObject({ code: 'BATCH_STATE' });
  await cancelBatch(client, waiting);
  expect(await retry(waiting)).toMatchObject({
    code: 'BATCH_STATE',
    msg: 'The batch cannot be retried: it is cancelled.',
  });
});

test('a batch expires at its deadline: the remaining items fail with DEADLINE_PASSED and cost nothing', async ({
  souk,
  client,
  account,
  upstream,
}) => {
  holdProducts(upstream);
  const deadline = new Date(souk.clock.now() + 40_000).toISOString();
  const batch = await startBatch(client, { ...callsOf(asinsFrom('B0LATE', 40)), deadline });
  await upstream.received(16);
  expect(await unitsUsed(client)).toBe(16);
  const after = await batchOnce(souk, client, batch, isFinished, 2_000);
  expect(after).toMatchObject({
    state: 'expired',
    counts: { failed: 40, done: 0, pending: 0, running: 0 },
    units: { charged: 0, reserved: 0 },
  });
  expect(new Set(await codesOf(client, batch))).toEqual(new Set(['DEADLINE_PASSED']));
  expect(upstream.callsTo('product')).toHaveLength(16);
  expect(await unitsUsed(client)).toBe(0);
  await expectBalancesOfLedger(souk, account.accountId);
  // A retry has a new deadline.
  upstream.on('product', knowsEveryProduct);
  const retried = await retryBatch(client, batch);
  expect(retried.json.data.deadlineAt).toBe(new Date(souk.clock.now() + WEEK_MS).toISOString());
  expect(await batchOnce(souk, client, batch, isFinished)).toMatchObject({
    state: 'done',
    counts: { done: 40 },
  });
});

test('a waiting batch expires at its deadline', async ({ souk, upstream: _ }) => {
  const poor = await souk.client({ plan: { dailyLimit: 2 } });
  const deadline = new Date(souk.clock.now() + 3_600_000).toISOString();
  const batch = await startBatch(poor, { ...callsOf(asinsFrom('B0POOR', 3)), deadline });
  await batchOnce(souk, poor, batch, isWaiting, 10);
  souk.clock.advance(3_590_000);
  const after = await batchOnce(souk, poor, batch, isFinished);
  expect(after).toMatchObject({ state: 'expired', waiting: null, counts: { done: 2, failed: 1 } });
});

test('a cancelled batch runs no pending call, and keeps and is charged for those that were sent', async ({
  souk,
  client,
  account,
  upstream,
}) => {
  const open = holdProducts(upstream);
  const batch = await startBatch(client, callsOf(asinsFrom('B0CANCL', 40)));
  await batchOnce(souk, client, batch, () => upstream.calls.length === 16, 10);
  const reply = await cancelBatch(client, batch);
  expect(reply.status).toBe(200);
  expect(reply.json.data).toMatchObject({ state: 'cancelled', counts: { cancelled: 24, running: 16 } });
  open();
  const after = await batchOnce(souk, client, batch, isFinished, 100);
  expect(after).toMatchObject({
    state: 'cancelled',
    counts: { cancelled: 24, done: 16, failed: 0, running: 0, pending: 0 },
    units: { charged: 16, reserved: 0 },
  });
  expect(upstream.calls).toHaveLength(16);
  const codes = await codesOf(client, batch);
  expect(codes.filter((code) => code === '0000')).toHaveLength(16);
  expect(codes.filter((code) => code === 'CANCELLED')).toHaveLength(24);
  expect(await unitsUsed(client)).toBe(16);
  await expectBalancesOfLedger(souk, account.accountId);
  // A second cancellation changes nothing.
  const again = await cancelBatch(client, batch);
  expect(again.json.data).toMatchObject({ state: 'cancelled', finishedAt: after.finishedAt });
});

test('a call that a request waits for continues after its batch is cancelled', async ({
  souk,
  client,
  upstream,
}) => {
  const open = holdProducts(upstream);
  const asin = 'B0SHARED01';
  const batch = await startBatch(client, { operation, items: [{ domain: 1, asin }] });
  await upstream.received(1);
  const awaited = souk.events.next('call.awaited');
  const request = client.get(`/api/market/product?domain=1&asins=${asin}`);
  await awaited;
  await cancelBatch(client, batch);
  souk.clock.advance(1_000);
  open();
  expect((await request).status).toBe(200);
  const after = await batchOnce(souk, client, batch, isFinished, 100);
  // The call had ended before the cancellation, so the batch keeps its result and is charged.
  expect(after).toMatchObject({ state: 'cancelled', counts: { done: 1 }, units: { charged: 1 } });
  expect(await unitsUsed(client)).toBe(1);
  expect(upstream.calls).toHaveLength(1);
});

test('a cancelled batch ends immediately and leaves the call it joined running', async ({
  souk,
  client,
  upstream,
}) => {
  const open = holdProducts(upstream);
  const asin = 'B0JOINED01';
  const request = client.get(`/api/market/product?domain=1&asins=${asin}`);
  await upstream.received(1);
  const batch = await startBatch(client, { operation, items: [{ domain: 1, asin }] });
  await batchOnce(souk, client, batch, ({ counts }) => counts.running === 1, 10);
  await cancelBatch(client, batch);
  expect(await batchOnce(souk, client, batch, isFinished, 100)).toMatchObject({ counts: { cancelled: 1 } });
  open();
  expect((await request).status).toBe(200);
});

test('a cancelled batch ends even if a call returns to it meanwhile', async ({ souk, client, upstream }) => {
  // At midnight UTC the window is closed.
  souk.clock.advance(DAY_MS - (souk.clock.now() % DAY_MS));
  const batch = await startBatch(client, { ...callsOf(['B0LEFT0001', 'B0LEFT0002']), window: 'off_peak' });
  await cancelBatch(client, batch);
  // The state in which a worker leaves the batch if admission refuses a call during the cancellation.
  await souk.database.query('update batches set finished_at = null, cancelled_items = 1 where id = $1', [
    batch.batchId,
  ]);
  await souk.database.query(
    `update batch_calls set state = 'pending', error = null, end_no = null, ended_at = null
     where batch_id = $1 and first_item = 1`,
    [batch.batchId],
  );
  const after = await batchOnce(souk, client, batch, isFinished);
  expect(after).toMatchObject({ state: 'cancelled', counts: { cancelled: 2, pending: 0 } });
  expect(upstream.calls).toEqual([]);
});

/** Leaves a batch whose next step ends it. Its end throws, because its webhook is no address. */
type Unending = (
  test: { souk: Souk; client: Client; upstream: ScriptedUpstream },
  asin: string,
) => Promise<{ batchId: string }>;

async function waitingBatch({ souk, client }: { souk: Souk; client: Client }, asin: string) {
  // At midnight UTC the window is closed.
  souk.clock.advance(DAY_MS - (souk.clock.now() % DAY_MS));
  return startBatch(client, { ...callsOf([asin]), window: 'off_peak' });
}

const UNENDING: [name: string, make: Unending][] = [
  [
    'expires',
    async ({ souk, client }, asin) => {
      const batch = await waitingBatch({ souk, client }, asin);
      await change(souk, batch, `webhook = 'none', deadline_at = created_at`);
      return batch;
    },
  ],
  [
    'was cancelled when a call returned to it',
    async ({ souk, client }, asin) => {
      const batch = await waitingBatch({ souk, client }, asin);
      await change(souk, batch, `webhook = 'none', state = 'cancelled'`);
      return batch;
    },
  ],
  [
    'has expired before its last call ends',
    async ({ souk, client, upstream }, asin) => {
      const open = holdProducts(upstream);
      const batch = await startBatch(client, callsOf([asin]));
      await upstream.received(1);
      await change(souk, batch, `webhook = 'none', state = 'expired'`);
      open();
      return batch;
    },
  ],
  [
    'leaves the call of another request',
    async ({ souk, client, upstream }, asin) => {
      holdProducts(upstream);
      void client.get(`/api/market/product?domain=1&asins=${asin}`).catch(() => {});
      await upstream.received(1);
      const batch = await startBatch(client, { operation, items: [{ domain: 1, asin }] });
      await batchOnce(souk, client, batch, ({ counts }) => counts.running === 1, 10);
      await change(souk, batch, `webhook = 'none', state = 'cancelled'`);
      return batch;
    },
  ],
];

const change = ({ database }: Souk, { batchId }: { batchId: string }, assignments: string) =>
  database.query(`update batches set ${assignments} where id = $1`, [batchId]);

test.for(UNENDING)(
  'a batch that %s and cannot be ended does not stop other batches',
  async ([name, make], { souk, client, upstream }) => {
    const nth = UNENDING.findIndex(([one]) => one === name);
    const batch = await make({ souk, client, upstream }, `B0UNEND00${nth}`);
    souk.logLines.length = 0;
    await vi.waitFor(() => {
      souk.clock.advance(1_000);
      expect(souk.logLines.join('')).toContain('failed to change a batch');
    });
    upstream.on('product', knowsEveryProduct);
    const other = await startBatch(client, callsOf([`B0UNENDX0${nth}`]));
    expect(await batchOnce(souk, client, other, isFinished)).toMatchObject({ counts: { done: 1 } });
    expect(await batchNow(client, batch)).toMatchObject({ finishedAt: null });
    await change(souk, batch, 'webhook = null');
    await batchOnce(souk, client, batch, isFinished);
  },
);

test('a new batch deletes the oldest free ended batches beyond the number that is kept', async ({
  souk,
  client,
  account,
  upstream: _,
}) => {
  const charged = await startBatch(client, {
    operation,
    params: { domain: 1 },
    split: { asins: ['B0FREE0001'] },
  });
  await batchOnce(souk, client, charged, isFinished);
  const { rows: made } = await souk.database.query<{ id: string }>(
    `insert into batches (id, account_id, operation, state, feed_window, item_count, units_quoted, request_hash,
       created_at, deadline_at, finished_at)
     select lpad(i::text, 32, '0')::uuid, $1, $2, 'cancelled', 'any', 1, 1, '', $3, $3, $3 from generate_series(1, $4) as i
     returning id`,
    [account.accountId, operation, new Date(souk.clock.now()), FREE_BATCHES_KEPT + 1],
  );
  await startBatch(client, { operation, params: { domain: 1 }, split: { asins: ['B0FREE0002'] } });
  const { rows } = await souk.database.query<{ id: string }>(
    'select id from batches where account_id = $1 order by id',
    [account.accountId],
  );
  const ids = rows.map(({ id }) => id);
  expect(ids.slice(0, FREE_BATCHES_KEPT)).toEqual(made.slice(1).map(({ id }) => id));
  expect(ids).toContain(charged.batchId);
});

test('deletes a batch and its results seven days after its end', async ({ souk, client, upstream: _ }) => {
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
  const ofBatch = 'select 1 from batch_calls where batch_id = $1';
  expect((await souk.database.query(ofBatch, [batch.batchId])).rowCount).toBe(0);
  expect(await batchNow(client, batch)).toBeNull();
});
