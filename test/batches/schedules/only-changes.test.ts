import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import { resultsOf } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import {
  createSchedule,
  HOUR_MS,
  patchSchedule,
  productsHourly,
  runThrough,
} from '../../support/schedules.ts';
import { openSouk, type Souk, showLogOnFailure } from '../../support/souk.ts';

let souk: Souk;
let client: Client;
beforeAll(async () => {
  souk = await openSouk();
});
afterAll(() => souk.close());

/** What upstream says of each ASIN; those it says nothing of are not there. */
let titles: Map<string, string>;
let isDown: boolean;
let lastUpdate: number;

beforeEach(async () => {
  showLogOnFailure(souk);
  client = await souk.client();
  titles = new Map();
  isDown = false;
  lastUpdate = 7_000_000;
  souk.upstream.on('product', ({ params }) => {
    if (isDown) return { status: 500, json: {} };
    // It was looked at again each time, whether or not anything has changed.
    lastUpdate += 1;
    const asins = (params.asin ?? '').split(',').filter((asin) => titles.has(asin));
    const products = asins.map((asin) => ({
      ...{ asin, domainId: 1, productType: 0, csv: [], lastUpdate },
      title: titles.get(asin),
    }));
    return { json: { products } };
  });
});

/** Failures are tried again for minutes. */
const WHILE_RETRIED_MS = 10_000;

const paused = { paused: true, onlyChanges: true };

/** A run, two hours later: nothing is taken from a cache. @returns what became of the items, and the ASINs delivered. */
async function runLater(schedule: { scheduleId: string }) {
  souk.clock.advance(2 * HOUR_MS);
  const batch = await runThrough(souk, client, schedule, isDown ? WHILE_RETRIED_MS : undefined);
  const lines = await resultsOf(client, batch);
  const delivered = lines.map(({ code, data, params }) =>
    code === '0000' ? (data.products[0]?.asin ?? 'absent') : `${(params as { asins: string }).asins} ${code}`,
  );
  return { counts: batch.counts, delivered, charged: batch.units.charged };
}

test('the first run delivers everything, each later one what has changed, and all are charged', async () => {
  const [a, b, c] = [newAsin(), newAsin(), newAsin()];
  for (const asin of [a, b, c]) titles.set(asin, 'as it was');
  const schedule = await createSchedule(client, productsHourly([a, b, c], paused));
  expect(await runLater(schedule)).toMatchObject({ delivered: [a, b, c], counts: { done: 3, unchanged: 0 } });
  // The time of the look-up is another every time: that is no change.
  expect(await runLater(schedule)).toMatchObject({
    delivered: [],
    counts: { done: 3, unchanged: 3 },
    charged: 3,
  });
  titles.set(b, 'changed');
  expect(await runLater(schedule)).toMatchObject({
    delivered: [b],
    counts: { done: 3, unchanged: 2 },
    charged: 3,
  });
  expect(await runLater(schedule)).toMatchObject({ delivered: [] });
  titles.set(b, 'as it was');
  expect(await runLater(schedule)).toMatchObject({ delivered: [b] });
});

test('an answer from the cache is no change', async () => {
  const asin = newAsin();
  titles.set(asin, 'as it was');
  const schedule = await createSchedule(client, productsHourly([asin], paused));
  await runLater(schedule);
  souk.clock.advance(10 * 60_000);
  const batch = await runThrough(souk, client, schedule);
  expect(batch.counts).toMatchObject({ done: 1, unchanged: 1 });
});

test('what is gone is told once, and so is its return', async () => {
  const [a, b] = [newAsin(), newAsin()];
  for (const asin of [a, b]) titles.set(asin, 'there');
  const schedule = await createSchedule(client, productsHourly([a, b], paused));
  await runLater(schedule);
  titles.delete(a);
  expect((await runLater(schedule)).delivered).toHaveLength(1);
  expect((await runLater(schedule)).delivered).toEqual([]);
  titles.set(a, 'there');
  expect((await runLater(schedule)).delivered).toEqual([a]);
});

test('items that fail are told of, and come again in the next run', async () => {
  const [a, b] = [newAsin(), newAsin()];
  for (const asin of [a, b]) titles.set(asin, 'there');
  const schedule = await createSchedule(client, productsHourly([a, b], { ...paused, runHours: 1 }));
  isDown = true;
  expect(await runLater(schedule)).toMatchObject({
    delivered: [`${a} UPSTREAM_ERROR`, `${b} UPSTREAM_ERROR`],
    counts: { done: 0, failed: 2, unchanged: 0 },
    charged: 0,
  });
  isDown = false;
  expect(await runLater(schedule)).toMatchObject({ delivered: [a, b], counts: { done: 2, failed: 0 } });
  // What a failure hides is no change.
  isDown = true;
  expect((await runLater(schedule)).delivered).toHaveLength(2);
  isDown = false;
  titles.set(b, 'changed');
  expect((await runLater(schedule)).delivered).toEqual([b]);
});

test('of other items all are new, and those that stay are not', async () => {
  const [a, b, c] = [newAsin(), newAsin(), newAsin()];
  for (const asin of [a, b, c]) titles.set(asin, 'there');
  const schedule = await createSchedule(client, productsHourly([a, b], paused));
  await runLater(schedule);
  await patchSchedule(client, schedule, { batch: productsHourly([b, c]).batch });
  expect((await runLater(schedule)).delivered).toEqual([c]);
  const { rows } = await souk.database.query<{ remembered: number }>(
    'select count(*) as remembered from schedule_contents where schedule_id = $1',
    [schedule.scheduleId],
  );
  expect(rows).toEqual([{ remembered: 2 }]);
  await patchSchedule(client, schedule, { batch: productsHourly([a, b, c]).batch });
  expect((await runLater(schedule)).delivered).toEqual([a]);
});

test('switched off and on again, the next run delivers everything', async () => {
  const asin = newAsin();
  titles.set(asin, 'first');
  const schedule = await createSchedule(client, productsHourly([asin], paused));
  await runLater(schedule);
  await patchSchedule(client, schedule, { onlyChanges: false });
  titles.set(asin, 'second');
  expect((await runLater(schedule)).delivered).toEqual([asin]);
  await patchSchedule(client, schedule, { onlyChanges: true });
  // Its customer has seen "second" last, whatever was remembered before.
  titles.set(asin, 'first');
  expect((await runLater(schedule)).delivered).toEqual([asin]);
});

test('two schedules of the same items remember each for itself', async () => {
  const asin = newAsin();
  titles.set(asin, 'there');
  const first = await createSchedule(client, productsHourly([asin], paused));
  const second = await createSchedule(client, productsHourly([asin], paused));
  await runLater(first);
  expect((await runLater(second)).delivered).toEqual([asin]);
  expect((await runLater(first)).delivered).toEqual([]);
});
