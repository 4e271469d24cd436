import { expect } from 'vitest';
import { HOUR_MS } from '../../../src/platform/durations.ts';
import { newAsin } from '../../support/answers.ts';
import { resultsOf } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { PAGES, signedIn } from '../../support/customer.ts';
import {
  comesAbout,
  createSchedule,
  patchSchedule,
  productsHourly,
  runThrough,
} from '../../support/schedules.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { webhookCustomer } from '../../support/webhooks.ts';

test.override('soukOptions', { pages: PAGES });
/** The titles that upstream has, by ASIN. It does not know other products. */
let titles: Map<string, string>;
let isDown: boolean;
let lastUpdate: number;

test.beforeEach(({ upstream }) => {
  titles = new Map();
  isDown = false;
  lastUpdate = 7_000_000;
  upstream.on('product', ({ params }) => {
    if (isDown) return { status: 500, json: {} };
    // The provider updates this time at every request, even if nothing has changed.
    lastUpdate += 1;
    const asins = (params.asin ?? '').split(',').filter((asin) => titles.has(asin));
    const products = asins.map((asin) => ({
      asin,
      domainId: 1,
      productType: 0,
      csv: [],
      lastUpdate,
      title: titles.get(asin),
    }));
    return { json: { products } };
  });
});

/** The step of the clock while failed calls are retried, which takes minutes. */
const WHILE_RETRIED_MS = 10_000;

const paused = { paused: true, onlyChanges: true };

/** A run two hours later, when no answer is in the cache. @returns the batch, its counts, the delivered ASINs and the charge. */
async function runLater(souk: Souk, client: Client, schedule: { scheduleId: string }) {
  souk.clock.advance(2 * HOUR_MS);
  const batch = await runThrough(souk, client, schedule, isDown ? WHILE_RETRIED_MS : undefined);
  const lines = await resultsOf(client, batch);
  const delivered = lines.map(({ code, data, params }) =>
    code === '0000'
      ? (data.products?.[0]?.asin ?? 'absent')
      : `${(params as { asins: string }).asins} ${code}`,
  );
  return { batchId: batch.batchId, counts: batch.counts, delivered, charged: batch.units.charged };
}

test('the first run delivers all items, later ones changes; all are charged', async ({ souk, client }) => {
  const [a, b, c] = [newAsin(), newAsin(), newAsin()];
  for (const asin of [a, b, c]) titles.set(asin, 'as it was');
  const schedule = await createSchedule(client, productsHourly([a, b, c], paused));
  expect(await runLater(souk, client, schedule)).toMatchObject({
    delivered: [a, b, c],
    counts: { done: 3, unchanged: 0 },
  });
  // The time of the look-up differs each time, which is not a change.
  expect(await runLater(souk, client, schedule)).toMatchObject({
    delivered: [],
    counts: { done: 3, unchanged: 3 },
    charged: 3,
  });
  titles.set(b, 'changed');
  expect(await runLater(souk, client, schedule)).toMatchObject({
    delivered: [b],
    counts: { done: 3, unchanged: 2 },
    charged: 3,
  });
  expect(await runLater(souk, client, schedule)).toMatchObject({ delivered: [] });
  titles.set(b, 'as it was');
  expect(await runLater(souk, client, schedule)).toMatchObject({ delivered: [b] });
});

test('returns the values before and after of what has changed, in every format', async ({ souk, client }) => {
  const [a, b] = [newAsin(), newAsin()];
  for (const asin of [a, b]) titles.set(asin, 'as it was');
  const schedule = await createSchedule(client, productsHourly([a, b], paused));
  const changesOf = async (format: string) => {
    souk.clock.advance(2 * HOUR_MS);
    const { batchId } = await runThrough(souk, client, schedule);
    const reply = await client.get(`/api/batches/${batchId}/changes?format=${format}`);
    expect([reply.status, reply.headers['x-batch-finished']]).toEqual([200, 'true']);
    const headers = { accept: reply.headers['content-type'] ?? '' };
    const accepted = await client.get(`/api/batches/${batchId}/changes`, { headers });
    expect(accepted.headers['content-type']).toBe(headers.accept);
    return reply;
  };
  // Nothing is known of the run before the first one.
  expect((await changesOf('ndjson')).text).toBe('');
  titles.set(b, '=new');
  const { text } = await changesOf('ndjson');
  expect(
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([{ index: 1, key: b, column: 'title', before: 'as it was', after: '=new' }]);
  titles.set(b, 'later');
  const [header, line] = (await changesOf('csv')).text.split('\n');
  expect([header, line]).toEqual(['index,key,column,before,after', `1,${b},title,"'=new",later`]);
  expect((await changesOf('csv')).text).toBe('index,key,column,before,after\n');
  for (const format of ['xlsx', 'parquet'])
    expect((await changesOf(format)).body.length).toBeGreaterThan(100);
});

test('the webhook and the changes of a run have category ids beyond 2^53 with all digits', async ({
  souk,
  upstream,
  receiver,
}) => {
  const { client } = await webhookCustomer(souk);
  const blank = '9223372036854775807';
  let rootCat = '1055398';
  upstream.on('deal', () => ({
    raw: `{"deals":{"dr":[{"asin":"B0DEALBIG1","title":"Lamp","rootCat":${rootCat}}]}}`,
  }));
  const batch = { operation: 'market.deal', items: [{ domainId: 1 }], webhook: `${receiver.url}/hook` };
  const schedule = await createSchedule(client, productsHourly([], { ...paused, batch }));
  await runLater(souk, client, schedule);
  rootCat = blank;
  const { batchId } = await runLater(souk, client, schedule);
  const change = `{"index":0,"key":"B0DEALBIG1","column":"rootCat","before":1055398,"after":${blank}}`;
  expect((await client.get(`/api/batches/${batchId}/changes`)).text).toBe(`${change}\n`);
  await comesAbout(souk, async () => receiver.received.some(({ body }) => body.includes(batchId)));
  expect(receiver.received.at(-1)?.body).toContain(`"changes":[${change}]`);
});

test('the page of a run without changes says that nothing has changed', async ({ souk }) => {
  const { client, visitor } = await signedIn(souk);
  const asin = newAsin();
  titles.set(asin, 'as it was');
  const schedule = await createSchedule(client, productsHourly([asin], paused));
  const pageOfRun = async () => {
    souk.clock.advance(2 * HOUR_MS);
    const { batchId } = await runThrough(souk, client, schedule);
    return (await visitor.get(`/account/batches/${batchId}`)).text;
  };
  expect(await pageOfRun()).toContain('as it was');
  expect(await pageOfRun()).toContain('Nothing has changed.');
  titles.set(asin, 'is new');
  const page = await pageOfRun();
  for (const shown of ['Changes since the previous run', 'as it was', 'is new'])
    expect(page).toContain(shown);
});

test('the page of a run has its changes as a file of each form', async ({ souk }) => {
  const { client, visitor } = await signedIn(souk);
  const asin = newAsin();
  const schedule = await createSchedule(client, productsHourly([asin], paused));
  for (const title of ['as it was', 'is new']) {
    titles.set(asin, title);
    souk.clock.advance(2 * HOUR_MS);
    await runThrough(souk, client, schedule);
  }
  const [{ batchId }] = (await client.get('/api/batches')).json.data.batches;
  const { html } = await visitor.get(`/account/batches/${batchId}`);
  for (const format of ['csv', 'ndjson', 'xlsx', 'parquet']) {
    const address = `/account/batches/${batchId}/changes.${format}`;
    expect(html).toContain(`href="${address}"`);
    const { headers, status } = await visitor.get(address);
    expect([status, headers['content-disposition']]).toEqual([
      200,
      `attachment; filename="souk-batch-changes-${batchId.slice(-12)}.${format}"`,
    ]);
  }
  expect((await visitor.get(`/account/batches/${batchId}/changes.pdf`)).status).toBe(404);
});

test('an answer from the cache is not a change', async ({ souk, client }) => {
  const asin = newAsin();
  titles.set(asin, 'as it was');
  const schedule = await createSchedule(client, productsHourly([asin], paused));
  await runLater(souk, client, schedule);
  souk.clock.advance(10 * 60_000);
  const batch = await runThrough(souk, client, schedule);
  expect(batch.counts).toMatchObject({ done: 1, unchanged: 1 });
});

test('delivers a product once when it disappears, and once when it returns', async ({ souk, client }) => {
  const [a, b] = [newAsin(), newAsin()];
  for (const asin of [a, b]) titles.set(asin, 'there');
  const schedule = await createSchedule(client, productsHourly([a, b], paused));
  await runLater(souk, client, schedule);
  titles.delete(a);
  expect((await runLater(souk, client, schedule)).delivered).toHaveLength(1);
  expect((await runLater(souk, client, schedule)).delivered).toEqual([]);
  titles.set(a, 'there');
  expect((await runLater(souk, client, schedule)).delivered).toEqual([a]);
});

test('delivers the errors of failed items, and the items in the next run', async ({ souk, client }) => {
  const [a, b] = [newAsin(), newAsin()];
  for (const asin of [a, b]) titles.set(asin, 'there');
  const schedule = await createSchedule(client, productsHourly([a, b], { ...paused, runHours: 1 }));
  isDown = true;
  expect(await runLater(souk, client, schedule)).toMatchObject({
    delivered: [`${a} UPSTREAM_ERROR`, `${b} UPSTREAM_ERROR`],
    counts: { done: 0, failed: 2, unchanged: 0 },
    charged: 0,
  });
  isDown = false;
  expect(await runLater(souk, client, schedule)).toMatchObject({
    delivered: [a, b],
    counts: { done: 2, failed: 0 },
  });
  // A failure does not count as a change.
  isDown = true;
  expect((await runLater(souk, client, schedule)).delivered).toHaveLength(2);
  isDown = false;
  titles.set(b, 'changed');
  expect((await runLater(souk, client, schedule)).delivered).toEqual([b]);
});

test('after a change of the items, delivers the new items, and not the unchanged ones', async ({
  souk,
  client,
}) => {
  const [a, b, c] = [newAsin(), newAsin(), newAsin()];
  for (const asin of [a, b, c]) titles.set(asin, 'there');
  const schedule = await createSchedule(client, productsHourly([a, b], paused));
  await runLater(souk, client, schedule);
  await patchSchedule(client, schedule, { batch: productsHourly([b, c]).batch });
  expect((await runLater(souk, client, schedule)).delivered).toEqual([c]);
  const { rows } = await souk.database.query<{ remembered: number }>(
    'select count(*) as remembered from schedule_contents where schedule_id = $1',
    [schedule.scheduleId],
  );
  expect(rows).toEqual([{ remembered: 2 }]);
  await patchSchedule(client, schedule, { batch: productsHourly([a, b, c]).batch });
  expect((await runLater(souk, client, schedule)).delivered).toEqual([a]);
});

test('delivers all items in the first run after onlyChanges was off', async ({ souk, client }) => {
  const asin = newAsin();
  titles.set(asin, 'first');
  const schedule = await createSchedule(client, productsHourly([asin], paused));
  await runLater(souk, client, schedule);
  await patchSchedule(client, schedule, { onlyChanges: false });
  titles.set(asin, 'second');
  expect((await runLater(souk, client, schedule)).delivered).toEqual([asin]);
  await patchSchedule(client, schedule, { onlyChanges: true });
  // The customer has seen "second" last, so "first" is a change.
  titles.set(asin, 'first');
  expect((await runLater(souk, client, schedule)).delivered).toEqual([asin]);
});

test('two schedules with the same items detect changes independently', async ({ souk, client }) => {
  const asin = newAsin();
  titles.set(asin, 'there');
  const first = await createSchedule(client, productsHourly([asin], paused));
  const second = await createSchedule(client, productsHourly([asin], paused));
  await runLater(souk, client, first);
  expect((await runLater(souk, client, second)).delivered).toEqual([asin]);
  expect((await runLater(souk, client, first)).delivered).toEqual([]);
});
