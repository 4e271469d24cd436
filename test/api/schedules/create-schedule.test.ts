import { expect } from 'vitest';
import { asinsFrom } from '../../support/batches.ts';
import {
  createSchedule,
  patchSchedule,
  productsHourly,
  runsOf,
  scheduleNow,
} from '../../support/schedules.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { webhookCustomer } from '../../support/webhooks.ts';

const good = productsHourly(['B0GOOD0001', 'B0GOOD0002']);

async function stored(souk: Souk): Promise<number> {
  const { rows } = await souk.database.query<{ stored: number }>('select count(*) as stored from schedules');
  return rows[0]?.stored ?? Number.NaN;
}

test('returns the stored schedule with its next runs, items and maximum price of a run', async ({
  souk,
  client,
}) => {
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
    mailResults: false,
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

test('returns the items as they were sent with items=1', async ({ client }) => {
  const items = '[{"domainId":1,"includeCategories":[9223372036854775807]},{"domainId":3,"minRating":"45"}]';
  const body = `{"name":"Deals","cron":"0 * * * *","batch":{"operation":"market.deal","items":${items}}}`;
  const headers = { 'content-type': 'application/json' };
  const { json } = await client.post('/api/schedules', body, { headers });
  const { text } = await client.get(`/api/schedules/${json.data.scheduleId}?items=1`);
  expect(text).toContain(`"itemList":${items}`);
  expect(JSON.parse(text).data).toMatchObject({ ...json.data, items: 2 });
  expect(await scheduleNow(client, json.data)).not.toHaveProperty('itemList');
});

test('counts a request with items=1 as a download, because items may be large', async ({ openAnother }) => {
  const souk = await openAnother({ limits: { downloads: 0 } });
  const client = await souk.client();
  const made = await client.post('/api/schedules', good);
  const path = `/api/schedules/${made.json.data.scheduleId}`;
  expect([(await client.get(path)).status, (await client.get(`${path}?items=1`)).status]).toEqual([200, 429]);
});

const batch = good.batch;

test.for<[what: string, fields: Record<string, unknown>, names: string]>([
  ['no name', { name: undefined }, 'name: is required'],
  ['an empty name', { name: ' ' }, 'name: must be a text of 1 to 200 characters'],
  ['a name that is too long', { name: 'n'.repeat(201) }, 'name: must be a text of 1 to 200 characters'],
  ['a name with a NUL', { name: 'a\u0000b' }, 'name: must not contain control characters'],
  ['no pattern', { cron: undefined }, 'cron: is required'],
  ['a number instead of a pattern', { cron: 5 }, 'cron: must be a text'],
  ['words instead of a pattern', { cron: 'every day' }, 'cron: must be a cron pattern of five fields'],
  ['six fields', { cron: '0 0 9 * * *' }, 'cron: must be a cron pattern of five fields'],
  ['a nickname', { cron: '@daily' }, 'cron: must be a cron pattern of five fields'],
  ['30 February', { cron: '0 0 30 2 *' }, 'cron: must be a cron pattern of five fields'],
  ['a city', { timezone: 'new york' }, 'time zone; did you mean America/New_York?'],
  ['a misspelt time zone', { timezone: 'Europe/Berln' }, 'time zone; did you mean Europe/Berlin?'],
  ['a long time zone', { timezone: 'x'.repeat(9000) }, 'x..." is not a known time zone; use a name such as'],
  ['an unknown time zone', { timezone: 'Mars/Olympus' }, 'timezone: "Mars/Olympus" is not a known time zone'],
  ['an offset instead of a time zone', { timezone: '+02:00' }, 'timezone: "+02:00" is not a known time zone'],
  ['a number instead of a time zone', { timezone: 1 }, 'timezone: must be an IANA time zone'],
  ['an unknown window', { window: 'night' }, 'window: must be one of any, off_peak'],
  [
    'two windows',
    { window: 'any', batch: { ...batch, window: 'off_peak' } },
    'window: is any, but batch.window is off_peak',
  ],
  ['onlyChanges that is not a flag', { onlyChanges: 'perhaps' }, 'onlyChanges: must be 0, 1, true or false'],
  ['paused that is not a flag', { paused: null }, 'paused: must be 0, 1, true or false'],
  ['a run of zero hours', { runHours: 0 }, 'runHours: must be an integer from 1 to 720'],
  ['a run of 721 hours', { runHours: 721 }, 'runHours: must be an integer from 1 to 720'],
  ['an unknown field', { colour: 'red' }, 'colour: is not a known field'],
  ['no batch', { batch: undefined }, 'batch: is required: it must be a JSON object'],
  ['a batch that is a text', { batch: 'all' }, 'batch: must be a JSON object'],
  ['no operation', { batch: { items: [{}] } }, 'batch.operation: is required'],
  [
    'an unknown operation',
    { batch: { ...batch, operation: 'market.everything' } },
    'batch.operation: must be one of',
  ],
  [
    'an operation without jobs',
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
    'a deadline',
    { batch: { ...batch, deadline: '2026-05-01T00:00:00Z' } },
    'batch.deadline: is not a known field',
  ],
  ['an invalid webhook address', { batch: { ...batch, webhook: 'ftp://example.com' } }, 'batch.webhook: '],
  [
    'a webhook without a secret',
    { batch: { ...batch, webhook: 'https://example.com/hook' } },
    'batch.webhook: needs a signing secret',
  ],
  ['negative maxUnits', { batch: { ...batch, maxUnits: -1 } }, 'batch.maxUnits: must be an integer'],
])('refuses %s, names the field, and stores nothing', async ([_what, fields, names], { souk, client }) => {
  const before = await stored(souk);
  const reply = await client.post('/api/schedules', { ...good, ...fields });
  expect(reply.json.msg).toContain(names);
  expect(reply.json.code).toBe('VALIDATION_FAILED');
  expect(reply.status).toBe(400);
  expect(await stored(souk)).toBe(before);
  expect((await client.get('/api/schedules')).json.data.schedules).toEqual([]);
});

test('lists all invalid items with their index', async ({ client }) => {
  const items = [
    { domain: 1, asin: 'x' },
    { domain: 1, asin: 'B0GOOD0001' },
    { domain: 99, asin: 'B0GOOD0001' },
  ];
  const { json } = await client.post('/api/schedules', {
    ...good,
    batch: { operation: 'market.product', items },
  });
  expect(json.msg).toContain('items[0].asin');
  expect(json.code).toBe('VALIDATION_FAILED');
  expect((await client.get('/api/schedules')).json.data.schedules).toEqual([]);
  expect(json.metadata?.errors).toEqual([
    expect.objectContaining({ index: 0, parameter: 'asins' }),
    expect.objectContaining({ index: 2, parameter: 'domain' }),
  ]);
});

test.for([
  ['empty', ''],
  ['truncated', '{"name": '],
  ['a list', '[]'],
  ['null', 'null'],
  ['a text', '"schedule"'],
  ['nested too deeply', `${'{"batch":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
] as const)('refuses a body that is %s with 400', async ([_what, body], { souk, client }) => {
  const before = await stored(souk);
  const reply = await client.post('/api/schedules', body, {
    headers: { 'content-type': 'application/json' },
  });
  expect(reply.json).toMatchObject({ code: 'VALIDATION_FAILED', msg: expect.stringMatching(/^\w+: /) });
  expect(reply.status).toBe(400);
  expect(await stored(souk)).toBe(before);
});

test('refuses a body of more than 1 MiB with 413', async ({ client }) => {
  const made = await createSchedule(client, good);
  const tooLarge = { ...good, name: 'n'.repeat(1_048_576) };
  const replies = [
    await client.post('/api/schedules', tooLarge),
    await client.post('/api/schedules/quote', tooLarge),
    await patchSchedule(client, made, tooLarge),
    await client.post('/api/trackers', tooLarge),
  ];
  for (const { status, json } of replies)
    expect([status, json.code, json.msg]).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      'The request body is larger than 1048576 bytes.',
    ]);
  expect((await client.get('/api/schedules')).json.data.schedules).toEqual([made]);
});

test('accepts 75,000 products in 1 MiB, and refuses 100,001 items', async ({ client }) => {
  const tooMany = { operation: 'market.product', items: Array(100_001).fill(0) };
  const refused = await client.post('/api/schedules?dryRun=1', { ...good, batch: tooMany });
  expect(refused.json.msg).toBe('batch.items: must be at most 100000 items; 100001 were given');
  const asins = asinsFrom('B0', 75_000);
  const made = await createSchedule(client, productsHourly(asins, { cron: '0 0 1 1 *' }));
  expect(made).toMatchObject({ items: 75_000, units: 75_000 });
  const { text } = await client.get(`${made.links.self}?items=1`);
  expect(JSON.parse(text).data.itemList.at(-1)).toEqual({ domain: 1, asins: asins.at(-1) });
});

test('limits the size of all items with the parameters they share, and the number of listed faults', async ({
  client,
}) => {
  const send = (params: object, count: number) =>
    client.post('/api/schedules?dryRun=1', {
      ...good,
      batch: { operation: 'market.product', params, split: { asins: Array(count).fill('x') } },
    });
  const large = await send({ domain: 1, note: 'n'.repeat(40_000) }, 300);
  expect(large.json.msg).toMatch(/^items: must be at most 8388608 bytes in total/);
  const { json } = await send({ domain: 1 }, 10_001);
  const errors = json.metadata?.errors as object[];
  expect(errors).toHaveLength(10_001);
  expect(errors.at(-1)).toEqual({ parameter: 'items', problem: 'have more faults than are listed here' });
});

test('a dry run returns the quote and the next runs, and stores nothing', async ({ souk, client }) => {
  const before = await stored(souk);
  const reply = await client.post('/api/schedules?dryRun=1', good);
  expect(reply.status).toBe(200);
  expect(reply.headers.location).toBeUndefined();
  expect(reply.json.data).toMatchObject({ dryRun: true, items: 2, units: 2 });
  expect(reply.json.data.nextRuns[0]).toBe('2026-03-04T11:00:00.000Z');
  expect(await stored(souk)).toBe(before);
});

test('refuses a schedule if a run could cost more than maxUnits', async ({ client }) => {
  const refused = await client.post('/api/schedules', { ...good, batch: { ...batch, maxUnits: 1 } });
  expect(refused.json).toMatchObject({ code: 'QUOTA_MAX_UNITS', metadata: { needed: 2, maxUnits: 1 } });
  expect(refused.status).toBe(429);
  expect((await client.get('/api/schedules')).json.data.schedules).toEqual([]);
  expect(await createSchedule(client, { ...good, batch: { ...batch, maxUnits: 2 } })).toMatchObject({
    maxUnits: 2,
  });
});

// The off-peak window is open from 11:00 to 23:00 UTC.
test.for([
  ['0 2 * * *', 8, 'window: contradicts cron and runHours: the run of 2026-03-05T02:00:00.000Z ends at'],
  ['0 2 * * *', 10, null],
  ['0 12 * * *', 1, null],
  // 5 March in the window, 5 April and later as well; the hour of every other run is too early.
  ['0 2,12 * * *', 1, 'window: contradicts cron and runHours: the run of 2026-03-05T02:00:00.000Z ends at'],
] as const)(
  'checks off-peak runs at %s of %i hours against the window',
  async ([cron, runHours, contradiction], { client }) => {
    const reply = await client.post('/api/schedules', { ...good, cron, runHours, window: 'off_peak' });
    if (contradiction) expect(reply.json.msg).toContain(contradiction);
    expect(reply.status).toBe(contradiction ? 400 : 201);
  },
);

test('uses the window of the batch as the window of the schedule', async ({ client }) => {
  const made = await createSchedule(client, {
    ...good,
    cron: '0 12 * * *',
    batch: { ...batch, window: 'off_peak' },
  });
  expect(made.window).toBe('off_peak');
});

test('stores a webhook in its normal form', async ({ souk }) => {
  const customer = await webhookCustomer(souk);
  const made = await createSchedule(customer.client, {
    ...good,
    batch: { ...batch, webhook: 'HTTPS://Example.com' },
  });
  expect(made.webhook).toBe('https://example.com/');
});
