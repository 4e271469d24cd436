import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { asinsFrom } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { createSchedule, productsHourly, runsOf, scheduleNow } from '../../support/schedules.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { webhookCustomer } from '../../support/webhooks.ts';

let souk: Souk;
let client: Client;
beforeAll(async () => {
  souk = await openSouk();
});
afterAll(() => souk.close());
beforeEach(async () => {
  client = await souk.client();
});

const good = productsHourly(['B0GOOD0001', 'B0GOOD0002']);

async function stored(): Promise<number> {
  const { rows } = await souk.database.query<{ stored: number }>('select count(*) as stored from schedules');
  return rows[0]?.stored ?? Number.NaN;
}

test('a schedule is told as it is kept: next runs, items, the most a run costs', async () => {
  const made = await createSchedule(client, { ...good, timezone: 'Asia/Kathmandu', cron: '30 9 * * 1' });
  expect(made).toEqual({
    scheduleId: expect.any(String),
    name: 'Every hour',
    cron: '30 9 * * 1',
    timezone: 'Asia/Kathmandu',
    paused: false,
    nextRuns: [9, 16, 23, 30]
      .map((day) => `2026-03-${String(day).padStart(2, '0')}T03:45:00.000Z`)
      .concat(['2026-04-06T03:45:00.000Z']),
    window: 'any',
    onlyChanges: false,
    runHours: 24,
    webhook: null,
    maxUnits: null,
    operation: 'market.product',
    items: 2,
    units: 2,
    createdAt: '2026-03-04T10:00:00.000Z',
    updatedAt: '2026-03-04T10:00:00.000Z',
    links: {
      self: `/api/schedules/${made.scheduleId}`,
      runs: `/api/schedules/${made.scheduleId}/runs`,
      run: `/api/schedules/${made.scheduleId}/run`,
    },
  });
  expect(await scheduleNow(client, made)).toEqual(made);
  expect(await runsOf(client, made)).toEqual([]);
  const { rows } = await souk.database.query('select next_due_at from schedules where id = $1', [
    made.scheduleId,
  ]);
  expect(rows).toEqual([{ next_due_at: new Date('2026-03-09T03:45:00.000Z') }]);
});

const batch = good.batch;

test.each<[what: string, fields: Record<string, unknown>, names: string]>([
  ['no name', { name: undefined }, 'name: is required'],
  ['an empty name', { name: ' ' }, 'name: must be a text of 1 to 200 characters'],
  ['a name that is too long', { name: 'n'.repeat(201) }, 'name: must be a text of 1 to 200 characters'],
  ['a name with a NUL', { name: 'a\u0000b' }, 'name: must not contain control characters'],
  ['no cron', { cron: undefined }, 'cron: is required'],
  ['a number for a cron', { cron: 5 }, 'cron: must be a text'],
  ['nonsense for a cron', { cron: 'every day' }, 'cron: must be a cron pattern of five fields'],
  ['six fields', { cron: '0 0 9 * * *' }, 'cron: must be a cron pattern of five fields'],
  ['a nickname', { cron: '@daily' }, 'cron: must be a cron pattern of five fields'],
  ['30 February', { cron: '0 0 30 2 *' }, 'cron: must be a cron pattern of five fields'],
  [
    'a zone of another planet',
    { timezone: 'Mars/Olympus' },
    'timezone: "Mars/Olympus" is not a known time zone',
  ],
  ['an offset for a zone', { timezone: '+02:00' }, 'timezone: "+02:00" is not a known time zone'],
  ['a number for a zone', { timezone: 1 }, 'timezone: must be an IANA time zone'],
  ['a window there is not', { window: 'night' }, 'window: must be one of any, off_peak'],
  [
    'two windows',
    { window: 'any', batch: { ...batch, window: 'off_peak' } },
    'window: is any, but batch.window is off_peak',
  ],
  ['onlyChanges of neither', { onlyChanges: 'perhaps' }, 'onlyChanges: must be 0, 1, true or false'],
  ['paused of neither', { paused: null }, 'paused: must be 0, 1, true or false'],
  ['a run of no time', { runHours: 0 }, 'runHours: must be an integer from 1 to 720'],
  ['a run of months', { runHours: 721 }, 'runHours: must be an integer from 1 to 720'],
  ['a field there is not', { colour: 'red' }, 'colour: is not a known field'],
  ['no batch', { batch: undefined }, 'batch: '],
  ['a batch that is a text', { batch: 'all' }, 'batch: must be a JSON object'],
  ['no operation', { batch: { items: [{}] } }, 'batch.operation: is required'],
  [
    'an operation there is not',
    { batch: { ...batch, operation: 'market.everything' } },
    'batch.operation: must be one of',
  ],
  [
    'an operation that is no job',
    { batch: { ...batch, operation: 'account.quota' } },
    'batch.operation: must be one of',
  ],
  ['no items', { batch: { operation: 'market.product' } }, 'batch.items: is required'],
  [
    'an empty list',
    { batch: { operation: 'market.product', items: [] } },
    'batch.items: must contain at least one item',
  ],
  ['items and split', { batch: { ...batch, items: [{}] } }, 'batch.items: and split are both present'],
  [
    'two lists to split',
    { batch: { ...batch, split: { asins: ['B0'], domain: [1] } } },
    'batch.split: must contain exactly one parameter with a list',
  ],
  [
    'a deadline, which each run has of its own',
    { batch: { ...batch, deadline: '2026-05-01T00:00:00Z' } },
    'batch.deadline: is not a known field',
  ],
  ['an address that is none', { batch: { ...batch, webhook: 'ftp://example.com' } }, 'batch.webhook: '],
  [
    'a webhook without a secret',
    { batch: { ...batch, webhook: 'https://example.com/hook' } },
    'batch.webhook: needs a signing secret',
  ],
  ['fewer than no units', { batch: { ...batch, maxUnits: -1 } }, 'batch.maxUnits: must be an integer'],
  [
    'items that are bad, each of them',
    {
      batch: {
        operation: 'market.product',
        items: [
          { domain: 1, asin: 'x' },
          { domain: 1, asin: 'B0GOOD0001' },
          { domain: 99, asin: 'B0GOOD0001' },
        ],
      },
    },
    'items[0].asin',
  ],
])('%s is a 400 that names it, and nothing is kept', async (_what, fields, names) => {
  const before = await stored();
  const reply = await client.post('/api/schedules', { ...good, ...fields });
  expect(reply.json.msg).toContain(names);
  expect(reply.json.code).toBe('VALIDATION_FAILED');
  expect(reply.status).toBe(400);
  expect(await stored()).toBe(before);
  expect((await client.get('/api/schedules')).json.data.schedules).toEqual([]);
});

test('faults of items are all listed, with their index', async () => {
  const items = [
    { domain: 1, asin: 'x' },
    { domain: 1, asin: 'B0GOOD0001' },
    { domain: 99, asin: 'B0GOOD0001' },
  ];
  const { json } = await client.post('/api/schedules', {
    ...good,
    batch: { operation: 'market.product', items },
  });
  expect(json.metadata?.errors).toEqual([
    expect.objectContaining({ index: 0, parameter: 'asins' }),
    expect.objectContaining({ index: 2, parameter: 'domain' }),
  ]);
});

test.each([
  ['nothing', ''],
  ['half a document', '{"name": '],
  ['a list', '[]'],
  ['null', 'null'],
  ['a text', '"schedule"'],
  ['what is nested too deeply', `${'{"batch":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
])('a body that is %s is a 400 that says so', async (_what, body) => {
  const before = await stored();
  const reply = await client.post('/api/schedules', body, {
    headers: { 'content-type': 'application/json' },
  });
  expect(reply.json).toMatchObject({ code: 'VALIDATION_FAILED', msg: expect.stringMatching(/^\w+: /) });
  expect(reply.status).toBe(400);
  expect(await stored()).toBe(before);
});

test('a body beyond 16 MB is a 413', async () => {
  const reply = await client.post('/api/schedules', { ...good, name: 'n'.repeat(17 * 1024 * 1024) });
  expect(reply.status).toBe(413);
  expect((await client.get('/api/schedules')).json.data.schedules).toEqual([]);
});

test('100,000 items are a schedule, 100,001 are not', async () => {
  const asins = asinsFrom('B0', 100_000);
  const reply = await client.post('/api/schedules?dryRun=1', productsHourly([...asins, 'B0TOOMANY1']));
  expect(reply.json.msg).toBe('batch.items: must be at most 100000 items; 100001 were given');
  const made = await createSchedule(client, productsHourly(asins, { cron: '0 0 1 1 *' }));
  expect(made).toMatchObject({ items: 100_000, units: 100_000 });
});

test('a dry run tells the quote and the next runs, and keeps nothing', async () => {
  const before = await stored();
  const reply = await client.post('/api/schedules?dryRun=1', good);
  expect(reply.status).toBe(200);
  expect(reply.headers.location).toBeUndefined();
  expect(reply.json.data).toMatchObject({ dryRun: true, items: 2, units: 2 });
  expect(reply.json.data.nextRuns[0]).toBe('2026-03-04T11:00:00.000Z');
  expect(await stored()).toBe(before);
});

test('a run that could cost more than maxUnits is refused, one that could not is made', async () => {
  const refused = await client.post('/api/schedules', { ...good, batch: { ...batch, maxUnits: 1 } });
  expect(refused.json).toMatchObject({ code: 'QUOTA_MAX_UNITS', metadata: { needed: 2, maxUnits: 1 } });
  expect(refused.status).toBe(429);
  expect((await client.get('/api/schedules')).json.data.schedules).toEqual([]);
  expect(await createSchedule(client, { ...good, batch: { ...batch, maxUnits: 2 } })).toMatchObject({
    maxUnits: 2,
  });
});

// The off-peak window is open from 11:00 to 23:00 UTC.
test.each([
  ['0 2 * * *', 8, 'window: contradicts cron and runHours: the run of 2026-03-05T02:00:00.000Z ends at'],
  ['0 2 * * *', 10, null],
  ['0 12 * * *', 1, null],
  // 5 March in the window, 5 April and later as well; the hour of every other run is too early.
  ['0 2,12 * * *', 1, 'window: contradicts cron and runHours: the run of 2026-03-05T02:00:00.000Z ends at'],
])('off-peak runs at %s with %i hours each', async (cron, runHours, contradiction) => {
  const reply = await client.post('/api/schedules', { ...good, cron, runHours, window: 'off_peak' });
  if (contradiction) expect(reply.json.msg).toContain(contradiction);
  expect(reply.status).toBe(contradiction ? 400 : 201);
});

test('a window of the batch is the window of the schedule', async () => {
  const made = await createSchedule(client, {
    ...good,
    cron: '0 12 * * *',
    batch: { ...batch, window: 'off_peak' },
  });
  expect(made.window).toBe('off_peak');
});

test('a webhook is kept in its normal form, with a secret', async () => {
  const customer = await webhookCustomer(souk);
  const made = await createSchedule(customer.client, {
    ...good,
    batch: { ...batch, webhook: 'HTTPS://Example.com' },
  });
  expect(made.webhook).toBe('https://example.com/');
});

test('a list is read a page at a time, the newest first', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 3; i += 1) ids.unshift((await createSchedule(client, good)).scheduleId);
  const first = (await client.get('/api/schedules?limit=2')).json.data;
  const second = (await client.get(`/api/schedules?limit=2&cursor=${first.nextCursor}`)).json.data;
  const told = [...first.schedules, ...second.schedules].map(({ scheduleId }) => scheduleId);
  expect(told).toEqual(ids);
  expect(second.nextCursor).toBeNull();
  for (const bad of ['limit=0', 'limit=101', 'cursor=x'])
    expect((await client.get(`/api/schedules?${bad}`)).json.msg).toContain(`${bad.split('=')[0]}: `);
});

test('a schedule of another account does not exist, whatever is wanted of it', async () => {
  const made = await createSchedule(client, good);
  const other = await souk.client();
  const path = `/api/schedules/${made.scheduleId}`;
  const replies = [
    await other.get(path),
    await other.get(`${path}/runs`),
    await other.get(path, { method: 'PATCH', body: { paused: true } }),
    await other.post(`${path}/run`, {}),
    await other.get(path, { method: 'DELETE' }),
    await client.get('/api/schedules/no-id-at-all'),
    await client.get('/api/schedules/00000000-0000-7000-8000-000000000000'),
  ];
  for (const reply of replies) {
    expect(reply.json.code).toBe('SCHEDULE_NOT_FOUND');
    expect(reply.status).toBe(404);
  }
  expect((await other.get('/api/schedules')).json.data.schedules).toEqual([]);
  expect(await scheduleNow(client, made)).toEqual(made);
});

test('nobody without a key makes, sees or changes one', async () => {
  const { scheduleId } = await createSchedule(client, good);
  const without = [
    await client.raw('/api/schedules', { method: 'POST', body: good }),
    await client.raw('/api/schedules'),
    await client.raw(`/api/schedules/${scheduleId}`, { method: 'PATCH', body: { paused: true } }),
    await client.raw(`/api/schedules/${scheduleId}`, { method: 'DELETE' }),
  ];
  for (const reply of without) expect(reply.status).toBe(401);
});
