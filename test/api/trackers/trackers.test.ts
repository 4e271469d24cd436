import { expect } from 'vitest';
import { readTracker } from '../../../src/batches/trackers/read-tracker.ts';
import { asinsFrom } from '../../support/batches.ts';
import { csvReport, load, ranked } from '../../support/reports.ts';
import { comesAbout, createSchedule, productsHourly } from '../../support/schedules.ts';
import { test } from '../../support/souk-test.ts';
import { alertsOf, createTracker, everyTwoHours, trackerNow } from '../../support/trackers.ts';

test.override('soukOptions', { accountLimits: { openBatches: 9, schedules: 3, storedBytes: 1e9 } });

const good = everyTwoHours(['B0GOOD0001', 'b0good0002', 'B0GOOD0001']);
const keywords = { asins: undefined, domain: undefined, country: 'us', keywords: ['desk lamp'] };

test('returns the stored tracker with the price of a check and of a day', async ({ client }) => {
  const made = await createTracker(client, { ...good, quietHours: undefined });
  const self = `/api/trackers/${made.trackerId}`;
  expect(made).toEqual({
    trackerId: expect.any(String),
    name: 'Cheap things',
    subject: 'products',
    domain: 1,
    items: 2,
    conditions: [{ type: 'price_below', price: 'new', value: 2000 }],
    screen: null,
    lastScreen: null,
    cron: '0 */2 * * *',
    timezone: 'UTC',
    paused: false,
    nextRuns: ['12', '14', '16', '18', '20'].map((hour) => `2026-03-04T${hour}:00:00.000Z`),
    window: 'any',
    runHours: 24,
    alertAtStart: false,
    hysteresisPercent: 2,
    quietHours: 24,
    notify: ['webhook', 'chat'],
    webhook: null,
    chat: null,
    lastChat: null,
    maxUnits: null,
    operation: 'market.product',
    units: 2,
    unitsPerDay: 24,
    lastRun: null,
    createdAt: '2026-03-04T10:00:00.000Z',
    updatedAt: '2026-03-04T10:00:00.000Z',
    links: { self, alerts: `${self}/alerts`, batches: `/api/batches?scheduleId=${made.trackerId}` },
  });
  expect(await trackerNow(client, made)).toEqual(made);
  expect(await alertsOf(client, made)).toEqual([]);
});

test.for([
  ['30 9 * * 1', 'UTC', 0.29],
  ['0 9 * * 1-5', 'UTC', 1.43],
  ['0 0 1 * *', 'UTC', 0.07],
  ['0 * * * *', 'Europe/Berlin', 48],
  ['* * * * *', 'UTC', 2_880],
  ['*/30 8-9 1 1 *', 'UTC', 0.03],
] as const)(
  'a quote of checks at %s (%s) states an average day',
  async ([cron, timezone, unitsPerDay], { client }) => {
    const reply = await client.post('/api/trackers/quote', { ...good, cron, timezone });
    expect(reply.json.data).toMatchObject({ dryRun: true, units: 2, unitsPerDay });
    expect((await client.get('/api/trackers')).json.data.trackers).toEqual([]);
  },
);

test.for<[what: string, fields: Record<string, unknown>, names: string | RegExp]>([
  ['no products', { asins: undefined, domain: undefined }, 'asins: is required: send domain and asins'],
  ['no site', { domain: undefined }, 'domain: is required: it must be one of 1, 2'],
  ['an empty list', { asins: [] }, 'asins: must be a list of 1 to 10000 ASINs'],
  ['10,001 products', { asins: asinsFrom('B0', 10_001) }, 'asins: must be a list of 1 to 10000 ASINs'],
  ['an ASIN that is too short', { asins: ['B0GOOD0001', 'x'] }, 'asins.1: must be 10 letters or digits'],
  ['products and keywords', { country: 'us', keywords: ['lamp'] }, 'keywords: and asins are both present'],
  [
    'a keyword that no report has',
    { ...keywords, conditions: [{ type: 'keyword_rank_below', value: 1 }] },
    'keywords.0: must be a search term of the loaded reports, got "desk lamp"',
  ],
  [
    'a condition on prices of keywords',
    keywords,
    'conditions.0.type: price_below is no condition of keywords',
  ],
  [
    'a condition on ranks of keywords',
    { conditions: [{ type: 'keyword_rank_above', value: 1 }] },
    'keyword_rank_above is no condition of products',
  ],
  ['no conditions', { conditions: [] }, 'conditions: must be a list of 1 to 10 conditions'],
  [
    'eleven conditions',
    { conditions: Array.from({ length: 11 }, (_, i) => ({ type: 'price_below', value: i + 1 })) },
    'conditions: must be a list of 1 to 10 conditions',
  ],
  [
    'the same condition twice',
    {
      conditions: [
        { type: 'price_below', value: 5 },
        { type: 'price_below', price: 'new', value: 5 },
      ],
    },
    'conditions: must not contain the same condition twice',
  ],
  [
    'an unknown condition',
    { conditions: [{ type: 'moon_full' }] },
    'conditions.0.type: must be one of price_below',
  ],
  [
    'a condition without its bound',
    { conditions: [{ type: 'price_below' }] },
    'conditions.0.value: is required',
  ],
  [
    'a bound that cannot be crossed',
    { conditions: [{ type: 'rating_below', value: 51 }] },
    'conditions.0.value: must be an integer from 1 to 50 with rating_below, got 51',
  ],
  [
    'a bound of a condition without one',
    { conditions: [{ type: 'buy_box_owner', value: 1 }] },
    'conditions.0.value: must not be sent with buy_box_owner',
  ],
  [
    'a price of a rank',
    { conditions: [{ type: 'sales_rank_below', price: 'new', value: 1 }] },
    'conditions.0.price: must not be sent with sales_rank_below',
  ],
  ['a text instead of a list', { notify: 'email' }, /^notify: must be a list of [a-z, ]+, got "email"$/],
  ['an invalid pattern', { cron: 'daily' }, 'cron: must be a cron pattern of five fields'],
  ['too much hysteresis', { hysteresisPercent: 51 }, 'hysteresisPercent: must be an integer from 0 to 50'],
  ['a webhook without a secret', { webhook: 'https://example.com/hook' }, 'webhook: needs a signing secret'],
  ['an unknown field', { batch: {} }, 'batch: is not a known field'],
])('refuses %s and names the field', async ([_what, fields, names], { client }) => {
  const reply = await client.post('/api/trackers', { ...good, ...fields });
  expect(reply.json.msg).toMatch(names);
  expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
  expect((await client.get('/api/trackers')).json.data.trackers).toEqual([]);
});

test('accepts 10,000 products', async () => {
  const { subjects } = await readTracker(JSON.stringify({ ...good, asins: asinsFrom('B0', 10_000) }));
  expect(subjects.kind === 'products' && subjects.asins).toHaveLength(10_000);
});

test('refuses a check that can cost more than maxUnits', async ({ client }) => {
  const dear = await client.post('/api/trackers', { ...good, maxUnits: 1 });
  expect([dear.status, dear.json.code]).toEqual([429, 'QUOTA_MAX_UNITS']);
});

test('updates fields, and a dry run changes nothing', async ({ client }) => {
  const made = await createTracker(client, good);
  const patch = (body: object, query = '') =>
    client.get(`${made.links.self}${query}`, { method: 'PATCH', body });
  const change = {
    name: 'Cheaper',
    cron: '0 6 * * *',
    quietHours: 3,
    conditions: [{ type: 'buy_box_owner' }],
  };
  expect((await patch(change, '?dryRun=1')).json.data).toMatchObject({ dryRun: true, unitsPerDay: 2 });
  expect(await trackerNow(client, made)).toEqual(made);
  const changed = (await patch(change)).json.data;
  expect(changed).toMatchObject({ ...change, items: 2, unitsPerDay: 2 });
  expect(await trackerNow(client, made)).toEqual(changed);
  expect((await patch({ paused: true })).json.data).toMatchObject({ ...change, paused: true, nextRuns: [] });
  expect((await patch({ asins: ['B0GOOD0009'] })).json.data).toMatchObject({ items: 1, units: 1, domain: 1 });
  const refused = [
    {},
    { domain: 2 },
    { country: 'us', keywords: ['lamp'] },
    { conditions: [{ type: 'keyword_rank_above', value: 1 }] },
  ];
  for (const body of refused) expect((await patch(body)).json.code).toBe('VALIDATION_FAILED');
});

test('concurrent changes of keywords succeed, even if there are fewer connections than changes', async ({
  souk,
}) => {
  await load(souk.database, 'us', csvReport('2026-02-28', ranked('desk lamp', 'tent')));
  const subject = { ...good, ...keywords, conditions: [{ type: 'keyword_rank_below', value: 1_000 }] };
  const made = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const client = await souk.client();
      return { client, id: (await createTracker(client, subject)).trackerId };
    }),
  );
  const changes = made.flatMap(({ client, id }) =>
    ['tent', 'desk lamp'].map((keyword) =>
      client.get(`/api/trackers/${id}?dryRun=1`, {
        method: 'PATCH',
        body: { country: 'us', keywords: [keyword] },
      }),
    ),
  );
  const replies = await Promise.all(changes);
  expect(replies.map(({ status, json }) => [status, json.data?.items])).toEqual(replies.map(() => [200, 1]));
});

test('changes of a tracker at the same time are all kept', async ({ client }) => {
  const made = await createTracker(client, good);
  const patch = (body: object) => client.get(made.links.self, { method: 'PATCH', body });
  const condition = { type: 'price_below', price: 'new', value: 1_500 };
  const replies = await Promise.all([
    patch({ asins: ['B0GOOD0007'] }),
    patch({ conditions: [condition] }),
    patch({ name: 'Lamps' }),
  ]);
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await trackerNow(client, made)).toMatchObject({ items: 1, conditions: [condition], name: 'Lamps' });
});

test('trackers count as schedules of the account, and are not among them', async ({ client }) => {
  await createTracker(client, good);
  const tracker = await createTracker(client, good);
  const { scheduleId } = await createSchedule(client, productsHourly(['B0GOOD0001']));
  const refused = await client.post('/api/trackers', good);
  expect([refused.status, refused.json.code]).toEqual([429, 'LIMIT_REACHED']);
  const { schedules } = (await client.get('/api/schedules')).json.data;
  expect(schedules).toEqual([expect.objectContaining({ scheduleId })]);
  expect((await client.get(`/api/schedules/${tracker.trackerId}`)).json.code).toBe('SCHEDULE_NOT_FOUND');
  expect((await client.get(`/api/trackers/${scheduleId}`)).json.code).toBe('TRACKER_NOT_FOUND');
});

test('deletes a tracker with its schedule', async ({ souk, client }) => {
  const { trackerId } = await createTracker(client, good);
  const path = `/api/trackers/${trackerId}`;
  const deleted = await client.get(path, { method: 'DELETE' });
  expect(deleted.json.data).toEqual({ deleted: true, trackerId });
  expect((await client.get(path)).status).toBe(404);
  const { rows } = await souk.database.query('select from schedules where id = $1', [trackerId]);
  expect(rows).toEqual([]);
});

test('starts a check on request, at its normal price and even while paused; one check runs at a time', async ({
  souk,
  client,
}) => {
  const { trackerId } = await createTracker(client, { ...good, paused: true });
  const reply = await client.post(`/api/trackers/${trackerId}/run`, {});
  expect(reply.status).toBe(202);
  const { run, batch } = reply.json.data;
  expect(run).toMatchObject({ trigger: 'manual', state: 'started', batchId: batch.batchId });
  expect(batch).toMatchObject({ scheduleId: trackerId, operation: 'market.product' });
  expect(batch.units.quoted).toBe(2);
  expect(reply.headers.location).toBe(`/api/batches/${batch.batchId}`);
  const second = await client.post(`/api/trackers/${trackerId}/run`, {});
  expect([second.status, second.json.code]).toEqual([409, 'BATCH_STATE']);
  await comesAbout(souk, async () => {
    const { json } = await client.get(`/api/batches/${batch.batchId}`);
    return json.data.units.charged === 2;
  });
});
