import { expect } from 'vitest';
import { newAsin } from '../support/answers.ts';
import { finished, resultsOf, startBatch } from '../support/batches.ts';
import { createSchedule, patchSchedule, productsHourly } from '../support/schedules.ts';
import { test } from '../support/souk-test.ts';
import { createTracker, everyTwoHours } from '../support/trackers.ts';

// A task that holds a connection and waits for a second one of the same pool stands still if all others do the same. With one
// connection in each pool, it always does.
test.override('soukOptions', { connections: 1 });

test('collects a batch', async ({ client }) => {
  const batch = await startBatch(client, {
    operation: 'market.product',
    params: { domain: 1 },
    split: { asins: [newAsin(), newAsin()] },
  });
  expect(await finished(client, batch)).toMatchObject({ state: 'done', counts: { done: 2 } });
  expect(await resultsOf(client, batch)).toHaveLength(2);
});

test('changes a schedule to the off-peak window', async ({ client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()], { runHours: 24 }));
  const changed = await patchSchedule(client, schedule, { window: 'off_peak' });
  expect(changed.json).toMatchObject({ code: '0000', data: { window: 'off_peak' } });
});

test('changes products and window of a tracker', async ({ client }) => {
  const tracker = await createTracker(client, everyTwoHours([newAsin()], { runHours: 24 }));
  const change = { domain: 1, asins: [newAsin(), newAsin()], window: 'off_peak' };
  const changed = await client.get(`/api/trackers/${tracker.trackerId}`, { method: 'PATCH', body: change });
  expect(changed.json).toMatchObject({ code: '0000', data: { window: 'off_peak' } });
});
