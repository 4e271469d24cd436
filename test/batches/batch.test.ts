import { expect } from 'vitest';
import { asinsFrom, finished, resultsOf, startBatch } from '../support/batches.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

test('250 ASINs in a split need three upstream calls, cost 250 units and have a line each, in order', async ({
  client,
  upstream,
}) => {
  const asins = asinsFrom('B0BAT', 250);
  const batch = await startBatch(client, {
    operation: 'market.product',
    params: { domain: 1 },
    split: { asins },
  });
  expect(batch).toMatchObject({ units: { quoted: 250 }, counts: { items: 250 } });
  const after = await finished(client, batch);
  expect(after).toMatchObject({
    state: 'done',
    counts: { items: 250, pending: 0, running: 0, done: 250, failed: 0 },
    units: { quoted: 250, reserved: 0, charged: 250 },
  });
  expect(upstream.callsTo('product')).toHaveLength(3);
  expect(await unitsUsed(client)).toBe(250);
  const lines = await resultsOf(client, batch);
  expect(lines.map(({ index }) => index)).toEqual(asins.map((_, i) => i));
  expect(lines.map(({ data }) => data.products[0].asin)).toEqual(asins);
  expect(lines[7]).toMatchObject({
    params: { domain: 1, asins: asins[7] },
    code: '0000',
    data: { count: 1 },
  });
});

test('an item has the same answer as the same call', async ({ client }) => {
  const asins = asinsFrom('B0SAM', 3);
  const batch = await startBatch(client, {
    operation: 'market.product',
    items: asins.map((asin) => ({ domain: 1, asin, detailLevel: 'summary' })),
  });
  await finished(client, batch);
  const [first] = await resultsOf(client, batch);
  const { json } = await client.get(`/api/market/product?domain=1&asin=${asins[0]}&detailLevel=summary`);
  expect({ ...first?.data, fromCache: null }).toEqual({ ...json.data, fromCache: null });
});

test('an item that admission refuses as invalid fails with that error, uncharged', async ({ client }) => {
  // No report is loaded, so the admission of the call refuses it.
  const batch = await startBatch(client, {
    operation: 'aba.rank',
    items: [{ country: 'us', reportDate: '2026-02-28' }],
  });
  expect(await finished(client, batch)).toMatchObject({
    state: 'done',
    counts: { failed: 1, pending: 0 },
    units: { charged: 0, reserved: 0 },
  });
  expect(await resultsOf(client, batch)).toMatchObject([{ index: 0, code: 'VALIDATION_FAILED' }]);
  expect(await unitsUsed(client)).toBe(0);
});
