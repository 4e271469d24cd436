import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { knowsEveryProduct } from '../support/answers.ts';
import { asinsFrom, batchNow, finished, resultsOf, startBatch } from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import { openSouk, type Souk, showLogOnFailure } from '../support/souk.ts';
import { unitsUsed } from '../support/units.ts';

let souk: Souk;
let client: Client;
beforeAll(async () => {
  souk = await openSouk();
});
afterAll(() => souk.close());
beforeEach(async () => {
  client = await souk.client();
  souk.upstream.calls.length = 0;
  souk.upstream.on('product', knowsEveryProduct);
});

test('250 split ASINs are three calls upstream, 250 units, and a line each in order', async () => {
  showLogOnFailure(souk);
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
  expect(souk.upstream.callsTo('product')).toHaveLength(3);
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

test('an item is answered what the same call alone is answered', async () => {
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

test('another account has no such batch', async () => {
  const batch = await startBatch(client, {
    operation: 'market.product',
    items: [{ domain: 1, asin: 'B0FOREIGN1' }],
  });
  const other = await souk.client();
  for (const path of ['', '/results'])
    expect((await other.get(`/api/batches/${batch.batchId}${path}`)).json.code).toBe('BATCH_NOT_FOUND');
  expect((await batchNow(client, batch)).batchId).toBe(batch.batchId);
});
