import { expect } from 'vitest';
import { knowsEveryProduct } from '../support/answers.ts';
import { expectBalancesOfLedger } from '../support/balances.ts';
import { asinsFrom, batchOnce, isFinished, learnTokens, resultsOf, startBatch } from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import type { ScriptedUpstream } from '../support/scripted-upstream.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

test.beforeAll(({ souk }) => learnTokens(souk));

/** Items that share a call. */
const packed = (asins: readonly string[]) => ({
  operation: 'market.product',
  items: asins.map((asin) => ({ domain: 1, asin })),
});

/** Rejects each request for one of these ASINs while `isBroken` returns true. */
function reject(upstream: ScriptedUpstream, bad: readonly (string | undefined)[], isBroken = () => true) {
  upstream.on('product', (call, response) =>
    isBroken() && call.params.asin?.split(',').some((asin) => bad.includes(asin))
      ? { status: 400, json: { error: { type: 'invalidParameter' } } }
      : knowsEveryProduct(call, response),
  );
}

const outcomesOf = async (client: Client, batch: { batchId: string }) =>
  (await resultsOf(client, batch)).map(({ index, code }) => [index, code]);
const asked = (upstream: ScriptedUpstream) => upstream.callsTo('product').map(({ params }) => params.asin);

test('items whose ASINs fail are tried again by themselves, and the other items of their call are done', async ({
  souk,
  client,
  account,
  upstream,
}) => {
  const asins = asinsFrom('B0PART', 6);
  let isBroken = true;
  reject(upstream, [asins[0], asins[3], asins[4]], () => isBroken);
  const batch = await startBatch(client, packed(asins));
  const first = await batchOnce(souk, client, batch, ({ counts }) => counts.done === 3, 10);
  expect(first).toMatchObject({ counts: { pending: 3, failed: 0 }, units: { charged: 3, reserved: 0 } });
  isBroken = false;
  upstream.calls.length = 0;
  const after = await batchOnce(souk, client, batch, isFinished, 5_000);
  expect(after).toMatchObject({ state: 'done', counts: { done: 6, failed: 0 }, units: { charged: 6 } });
  expect(new Set(asked(upstream))).toEqual(new Set([asins[0], `${asins[3]},${asins[4]}`]));
  expect((await resultsOf(client, batch)).map(({ data }) => data.products[0].asin)).toEqual(asins);
  expect(await unitsUsed(client)).toBe(6);
  await expectBalancesOfLedger(souk, account.accountId);
});

test('an item that fails four times has the error, no charge and no row of CSV, and a retry runs only this item', async ({
  souk,
  client,
  upstream,
}) => {
  const asins = asinsFrom('B0FOUR', 4);
  let isBroken = true;
  reject(upstream, [asins[2]], () => isBroken);
  const batch = await startBatch(client, packed(asins));
  const after = await batchOnce(souk, client, batch, isFinished, 5_000);
  expect(after).toMatchObject({ counts: { done: 3, failed: 1 }, units: { quoted: 4, charged: 3 } });
  expect(await outcomesOf(client, batch)).toEqual([
    [0, '0000'],
    [1, '0000'],
    [2, 'UPSTREAM_ERROR'],
    [3, '0000'],
  ]);
  expect(asked(upstream).filter((asin) => asin === asins[2])).toHaveLength(4);
  const { text } = await client.get(`/api/batches/${batch.batchId}/results?format=csv`);
  const rows = text.trim().split('\n').slice(1);
  expect(rows.map((row) => row.split(',').slice(0, 2))).toEqual([0, 1, 3].map((i) => [String(i), asins[i]]));
  isBroken = false;
  upstream.calls.length = 0;
  await client.post(`/api/batches/${batch.batchId}/retry`, {});
  const again = await batchOnce(souk, client, batch, isFinished, 100);
  expect(again).toMatchObject({ counts: { done: 4, failed: 0 }, units: { charged: 4 } });
  expect(asked(upstream)).toEqual([asins[2]]);
});

test('an item with several ASINs is done if one of them was fetched, and is charged for that one', async ({
  souk,
  client,
  upstream,
}) => {
  const [good, bad, worse] = asinsFrom('B0SEVR', 3);
  reject(upstream, [bad, worse]);
  const items = [
    { domain: 1, asins: [good, bad] },
    { domain: 1, asins: [worse] },
  ];
  const batch = await startBatch(client, { operation: 'market.product', items });
  const after = await batchOnce(souk, client, batch, ({ counts }) => counts.done === 1, 10);
  expect(after).toMatchObject({ counts: { done: 1, pending: 1 }, units: { charged: 1 } });
  const [line] = await resultsOf(client, batch);
  expect(line?.data).toMatchObject({ count: 1, errors: [{ asin: bad, errorId: 'UPSTREAM_ERROR' }] });
});
