import { afterAll, beforeAll, expect, test } from 'vitest';
import { finished, resultsOf, startBatch } from '../support/batches.ts';
import { openSouk, type Souk } from '../support/souk.ts';
import { unitsUsed } from '../support/units.ts';

let souk: Souk;
beforeAll(async () => {
  souk = await openSouk();
});
afterAll(() => souk.close());

test('an item that is refused for good when its turn comes has failed, by name and for nothing', async () => {
  const client = await souk.client();
  // No report is loaded here, and which are is looked up when a call is made.
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
