import { expect } from 'vitest';
import { storeChanged } from '../../../src/batches/results.ts';
import { type AlertView, dropOldAlerts, MOST_ALERTS } from '../../../src/batches/trackers/alert.ts';
import { compareWithConditions, lockTracker } from '../../../src/batches/trackers/check.ts';
import type { TrackerView } from '../../../src/batches/trackers/tracker.ts';
import { WEBHOOK_LIMITS } from '../../../src/outbox/webhooks/webhook-limits.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { HOUR_MS } from '../../../src/platform/durations.ts';
import { newAsin } from '../../support/answers.ts';
import { asinsFrom } from '../../support/batches.ts';
import { verified } from '../../support/receiver.ts';
import { csvReport, load, ranked } from '../../support/reports.ts';
import { comesAbout } from '../../support/schedules.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import {
  alertsOf,
  createTracker,
  everyTwoHours,
  hasProducts,
  nextLook,
  statsOf,
  type TrackedProduct,
  trackerNow,
} from '../../support/trackers.ts';
import { unitsUsed } from '../../support/units.ts';
import { webhookCustomer } from '../../support/webhooks.ts';

/** What upstream has, by ASIN. */
let products: Map<string, TrackedProduct>;

test.beforeEach(({ upstream }) => {
  products = new Map();
  upstream.on('product', hasProducts(products));
});

const BATCH = '019b2c3d-4e5f-7a6b-8c7d-9e0f1a2b3c4d';
const seen = (alerts: readonly AlertView[]) => alerts.map(({ asin, before, after }) => [asin, before, after]);

/** Compares prices of products with the conditions of a tracker, as the collection of a call does. */
async function collect(
  { database, clock }: Souk,
  { trackerId }: TrackerView,
  prices: readonly (readonly [asin: string, price: number])[],
  { batchId = BATCH, limits = WEBHOOK_LIMITS, isAll = true } = {},
): Promise<void> {
  const results = prices.map(([asin, price], index) => ({
    index,
    raw: { domain: 1, asins: [asin] },
    metadata: undefined,
    data: { products: [{ asin, title: `Thing ${asin}\u0000`, stats: statsOf({ new: price }) }] },
  }));
  await inTransaction(database, async (client) => {
    const tracker = await lockTracker(client, trackerId);
    const changed = await storeChanged(client, trackerId, results);
    // A deleted tracker makes no alerts.
    if (!tracker) return;
    const check = { batchId, results: isAll ? results : changed };
    await compareWithConditions(client, tracker, check, limits, clock.now());
  });
}

async function payloads({ database }: Souk, accountId: number): Promise<{ data: { alerts: AlertView[] } }[]> {
  const { rows } = await database.query<{ payload: string }>(
    `select payload from outbox where account_id = $1 and kind = 'tracker.alert' order by id`,
    [accountId],
  );
  return rows.map(({ payload }) => JSON.parse(payload));
}

test('makes an alert when a price falls below the bound, and sends it signed to the webhook', async ({
  souk,
  upstream: _,
  receiver,
}) => {
  const { client, secret } = await webhookCustomer(souk);
  const [cheap, dear] = [newAsin(), newAsin()];
  products.set(cheap, { new: 2500 }).set(dear, { new: 9900 });
  const tracker = await createTracker(
    client,
    everyTwoHours([cheap, dear], { webhook: `${receiver.url}/hook` }),
  );
  expect(await nextLook(souk, client, tracker)).toEqual([]);
  products.set(cheap, { new: 1500 });
  const alerts = await nextLook(souk, client, tracker);
  expect(alerts).toEqual([
    {
      alertId: expect.any(String),
      trackerId: tracker.trackerId,
      batchId: (await trackerNow(client, tracker)).lastRun?.batchId,
      asin: cheap,
      wordId: null,
      title: `Thing ${cheap}`,
      condition: { type: 'price_below', price: 'new', value: 2000 },
      before: 2500,
      after: 1500,
      threshold: 2000,
      reasons: [],
      createdAt: expect.any(String),
    },
  ]);
  expect(await unitsUsed(client)).toBe(4);
  const { current } = (await client.get(`/api/trackers/${tracker.trackerId}`)).json.data;
  const condition = { type: 'price_below', price: 'new', value: 2000 };
  const tracked = [
    { asin: cheap, title: `Thing ${cheap}`, value: 1500, distance: -500, isMet: true },
    { asin: dear, title: `Thing ${dear}`, value: 9900, distance: 7900, isMet: false },
  ].map((one) => ({ ...one, wordId: null, condition }));
  expect(current).toEqual(tracked);
  const delivered = async () => (await client.get('/api/webhooks/deliveries?state=delivered')).json.data;
  await comesAbout(souk, async () => (await delivered()).deliveries.length > 0);
  expect(receiver.ids()).toEqual([alerts[0]?.alertId]);
  const [message] = receiver.received;
  if (!message) throw new Error('no message arrived');
  expect(verified(message, secret, souk.clock.now())).toMatchObject({
    type: 'tracker.alert',
    data: { trackerId: tracker.trackerId, name: 'Cheap things', alerts },
  });
});

test('lists the values of all trackers with pictures and the changes of each value, in pages', async ({
  souk,
  client,
}) => {
  const [a = '', b = ''] = [newAsin(), newAsin()].sort();
  products.set(a, { new: 2500 }).set(b, { new: 900 });
  const tracker = await createTracker(client, everyTwoHours([a, b]));
  await nextLook(souk, client, tracker);
  products.set(a, { new: 2400 });
  await nextLook(souk, client, tracker);
  await nextLook(souk, client, tracker);
  const pageOf = async (query: string) =>
    (await client.get(`/api/trackers/values?tracker=${tracker.trackerId}&${query}`)).json.data;
  const { values, nextCursor } = await pageOf('limit=1');
  expect(values).toMatchObject([
    {
      trackerId: tracker.trackerId,
      trackerName: 'Cheap things',
      domain: 1,
      nextCheck: (await trackerNow(client, tracker)).nextRuns[0],
      asin: a,
      title: `Thing ${a}`,
      image: `${a}.jpg`,
      value: 2400,
      distance: 400,
      changes: [{ value: 2500 }, { value: 2400 }],
    },
  ]);
  expect(nextCursor).toBe(`${tracker.trackerId}/${a}`);
  const next = await pageOf(`limit=1&cursor=${nextCursor}`);
  expect(next).toMatchObject({ values: [{ asin: b, changes: [{ value: 900 }] }], nextCursor: null });
  const other = await souk.client();
  expect((await other.get('/api/trackers/values')).json.data.values).toEqual([]);
});

test('keeps the last 30 changes of a value', async ({ souk, client }) => {
  const asin = newAsin();
  const tracker = await createTracker(client, everyTwoHours([asin]));
  for (let price = 3000; price < 3035; price += 1) await collect(souk, tracker, [[asin, price]]);
  const { values } = (await client.get(`/api/trackers/values?tracker=${tracker.trackerId}`)).json.data;
  expect(values[0].changes).toHaveLength(30);
  expect(values[0].changes.at(-1).value).toBe(3034);
});

test('keeps the state of a product that fails', async ({ souk, client, upstream }) => {
  const asin = newAsin();
  products.set(asin, { new: 2500 });
  const tracker = await createTracker(client, everyTwoHours([asin], { runHours: 1 }));
  await nextLook(souk, client, tracker);
  upstream.on('product', () => ({ status: 500, json: {} }));
  expect(await nextLook(souk, client, tracker, 300_000)).toEqual([]);
  upstream.on('product', hasProducts(products));
  products.set(asin, { new: 1500 });
  expect(seen(await nextLook(souk, client, tracker))).toEqual([[asin, 2500, 1500]]);
});

test('trackers of two accounts share fetches, not states', async ({ souk, client, upstream }) => {
  const asin = newAsin();
  products.set(asin, { new: 2500 });
  const other = await souk.client();
  const first = await createTracker(client, everyTwoHours([asin]));
  const second = await createTracker(
    other,
    everyTwoHours([asin], { conditions: [{ type: 'price_below', value: 3000 }], alertAtStart: true }),
  );
  await nextLook(souk, client, first);
  await comesAbout(souk, async () => (await alertsOf(other, second)).length === 1);
  expect(await alertsOf(client, first)).toEqual([]);
  expect(upstream.callsTo('product').filter(({ params }) => params.asin?.includes(asin))).toHaveLength(1);
  expect([await unitsUsed(client), await unitsUsed(other)]).toEqual([1, 1]);
});

test('makes one alert and one event if a batch is collected again', async ({ souk, upstream: _ }) => {
  const { client, accountId } = await webhookCustomer(souk);
  const asin = newAsin();
  const webhook = 'https://example.com/hook';
  const tracker = await createTracker(client, everyTwoHours([asin], { webhook }));
  const forgetLook = () => collect(souk, tracker, [[asin, 2500]]);
  for (let i = 0; i < 3; i += 1) {
    await forgetLook();
    await collect(souk, tracker, [[asin, 1500]]);
  }
  expect(await alertsOf(client, tracker)).toHaveLength(1);
  expect(await payloads(souk, accountId)).toHaveLength(1);
  await forgetLook();
  await collect(souk, tracker, [[asin, 1500]], { batchId: tracker.trackerId });
  expect(await alertsOf(client, tracker)).toHaveLength(2);
});

test('puts up to 100 alerts into an event, sends none beyond the limit', async ({ souk, upstream: _ }) => {
  const { client, accountId } = await webhookCustomer(souk);
  const asins = asinsFrom('B0MANY', 130);
  const webhook = 'https://example.com/hook';
  const tracker = await createTracker(client, everyTwoHours(asins, { webhook, alertAtStart: true }));
  await collect(
    souk,
    tracker,
    asins.map((asin) => [asin, 1500] as const),
  );
  const events = await payloads(souk, accountId);
  expect(events.map(({ data }) => data.alerts.length)).toEqual([100, 30]);
  await collect(souk, tracker, [['B0OTHER001', 1500]], {
    limits: { ...WEBHOOK_LIMITS, pendingPerAccount: 2 },
  });
  expect(await payloads(souk, accountId)).toHaveLength(2);
  const page = (await client.get(`${tracker.links.alerts}?limit=100`)).json.data;
  expect(page.alerts).toHaveLength(100);
  expect(page.alerts[0]).toMatchObject({ asin: 'B0OTHER001', title: 'Thing B0OTHER001 ' });
  const next = (await client.get(`${tracker.links.alerts}?limit=100&cursor=${page.nextCursor}`)).json.data;
  expect([next.alerts.length, next.nextCursor]).toEqual([31, null]);
});

test('keeps the newest 10,000 alerts of a tracker, for 90 days', async ({ souk, client }) => {
  const tracker = await createTracker(client, everyTwoHours([newAsin()], { alertAtStart: true }));
  const count = async () => {
    const { rows } = await souk.database.query<{ count: number }>(
      'select count(*) from tracker_alerts where tracker_id = $1',
      [tracker.trackerId],
    );
    return rows[0]?.count;
  };
  await souk.database.query(
    `insert into tracker_alerts (id, tracker_id, batch_id, item, condition_key, condition, created_at)
     select gen_random_uuid(), $1, gen_random_uuid(), 'B0', 'x', '{}', $2 from generate_series(1, $3)`,
    [tracker.trackerId, new Date(souk.clock.now()), MOST_ALERTS + 5],
  );
  await collect(souk, tracker, [[newAsin(), 1500]]);
  expect(await count()).toBe(MOST_ALERTS);
  await dropOldAlerts(souk.database, souk.clock.now() + 89 * 24 * HOUR_MS);
  expect(await count()).toBe(MOST_ALERTS);
  await dropOldAlerts(souk.database, souk.clock.now() + 91 * 24 * HOUR_MS);
  expect(await count()).toBe(0);
});

test('compares all products with new conditions, and forgets removed ones', async ({ souk, client }) => {
  const [a, b] = [newAsin(), newAsin()];
  products.set(a, { new: 2500, rating: 45 }).set(b, { new: 2500 });
  const tracker = await createTracker(client, everyTwoHours([a, b]));
  await nextLook(souk, client, tracker);
  const changed = await client.get(tracker.links.self, {
    method: 'PATCH',
    body: {
      asins: [a],
      domain: 1,
      conditions: [
        { type: 'rating_below', value: 40 },
        { type: 'price_below', value: 2000 },
      ],
    },
  });
  expect(changed.json.data).toMatchObject({ items: 1, units: 1, unitsPerDay: 12 });
  const { rows } = await souk.database.query('select item from tracker_states where tracker_id = $1', [
    tracker.trackerId,
  ]);
  expect(rows).toEqual([{ item: a }]);
  // The content of the product is the same, and the new condition needs its state.
  expect(await nextLook(souk, client, tracker)).toEqual([]);
  products.set(a, { new: 1500, rating: 39 });
  expect(new Set(seen(await nextLook(souk, client, tracker)))).toEqual(
    new Set([
      [a, 2500, 1500],
      [a, 45, 39],
    ]),
  );
});

test('collections, changes and deletion of a tracker do not block each other', async ({ souk, client }) => {
  const asins = asinsFrom('B0BUSY', 60);
  const tracker = await createTracker(client, everyTwoHours(asins));
  const patch = (value: number) =>
    client.get(tracker.links.self, {
      method: 'PATCH',
      body: { conditions: [{ type: 'price_below', value }] },
    });
  const checks = Array.from({ length: 6 }, (_, i) =>
    collect(
      souk,
      tracker,
      asins.slice(10 * i, 10 * i + 10).map((asin) => [asin, 1500 + i] as const),
      { isAll: false },
    ),
  );
  const changes = await Promise.all([patch(1000), patch(1600), patch(1700), ...checks]);
  expect(changes.slice(0, 3)).toMatchObject([{ status: 200 }, { status: 200 }, { status: 200 }]);
  const [deleted] = await Promise.all([
    client.get(tracker.links.self, { method: 'DELETE' }),
    ...Array.from({ length: 4 }, (_, i) =>
      collect(souk, tracker, [
        [asins[i] ?? '', 1],
        [newAsin(), 2],
      ]),
    ),
  ]);
  expect(deleted.status).toBe(200);
});

test('makes alerts about the ranks of keywords', async ({ souk, client }) => {
  const filler = (count: number) => Array.from({ length: count }, (_, i) => `filler ${i}`);
  await load(souk.database, 'us', csvReport('2026-02-21', ranked(...filler(20), 'desk lamp')));
  const tracker = await createTracker(client, {
    ...everyTwoHours([]),
    // plain-english: allow
    ...{ asins: undefined, domain: undefined, country: 'us', keywords: ['Desk  Lamp'] },
    conditions: [{ type: 'keyword_rank_below', value: 10 }],
  });
  expect(tracker).toMatchObject({ subject: 'keywords', domain: 1, items: 1, operation: 'aba.word' });
  expect(await nextLook(souk, client, tracker)).toEqual([]);
  await load(souk.database, 'us', csvReport('2026-02-28', ranked(...filler(4), 'desk lamp')));
  const [alert] = await nextLook(souk, client, tracker);
  expect(alert).toMatchObject({ asin: null, title: 'desk lamp', before: 21, after: 5, threshold: 10 });
  expect(alert?.wordId).toBeGreaterThan(16);
});
