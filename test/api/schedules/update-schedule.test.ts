import { expect } from 'vitest';
import { HOUR_MS } from '../../../src/platform/durations.ts';
import { newAsin } from '../../support/answers.ts';
import { resultsOf } from '../../support/batches.ts';
import {
  createSchedule,
  deleteSchedule,
  ended,
  patchSchedule,
  productsHourly,
  runsMade,
  runsOf,
  scheduleNow,
} from '../../support/schedules.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { webhookCustomer } from '../../support/webhooks.ts';

test.beforeEach(({ souk }) => souk.clock.advance(HOUR_MS - (souk.clock.now() % HOUR_MS)));

/** Returns the time of the next run; null if there is none. */
async function nextDueOf(
  souk: Souk,
  { scheduleId }: { scheduleId: string },
): Promise<string | null | undefined> {
  const { rows } = await souk.database.query<{ next: Date | null }>(
    'select next_due_at as next from schedules where id = $1',
    [scheduleId],
  );
  return rows[0] && (rows[0].next?.toISOString() ?? null);
}

test.for<[change: Record<string, unknown>, shown: Record<string, unknown>]>([
  [{ name: 'Another name' }, { name: 'Another name' }],
  [{ cron: ' 30 9 * * 1 ' }, { cron: '30 9 * * 1' }],
  [{ timezone: 'Asia/Tokyo' }, { timezone: 'Asia/Tokyo' }],
  [{ paused: true }, { paused: true, nextRuns: [] }],
  [{ window: 'off_peak' }, { window: 'off_peak' }],
  [{ onlyChanges: '1' }, { onlyChanges: true }],
  [{ mailResults: true }, { mailResults: true }],
  [{ runHours: 48 }, { runHours: 48 }],
  [{ maxUnits: 7 }, { maxUnits: 7 }],
])('%j changes only that field', async ([change, shown], { souk, client }) => {
  const before = await createSchedule(client, productsHourly([newAsin()]));
  souk.clock.advance(1_000);
  const reply = await patchSchedule(client, before, change);
  expect(reply.status).toBe(200);
  const timing = 'cron' in change || 'timezone' in change ? { nextRuns: expect.any(Array) } : {};
  const after = { ...before, ...timing, ...shown, updatedAt: new Date(souk.clock.now()).toISOString() };
  expect(reply.json.data).toEqual(after);
  expect(await scheduleNow(client, before)).toEqual(after);
  await deleteSchedule(client, before);
});

test('replaces the batch, its webhook and its maxUnits', async ({ souk }) => {
  const customer = await webhookCustomer(souk);
  const [first, second, third] = [newAsin(), newAsin(), newAsin()];
  const batch = { ...productsHourly([first]).batch, webhook: 'https://example.com/hook', maxUnits: 5 };
  const schedule = await createSchedule(customer.client, productsHourly([], { batch }));
  expect(schedule).toMatchObject({ webhook: 'https://example.com/hook', maxUnits: 5, items: 1 });
  const reply = await patchSchedule(customer.client, schedule, {
    batch: productsHourly([second, third]).batch,
  });
  expect(reply.json.data).toMatchObject({ webhook: null, maxUnits: null, items: 2, units: 2 });
  const { run } = (await customer.client.post(`/api/schedules/${schedule.scheduleId}/run`, '')).json.data;
  await ended(souk, customer.client, run);
  const lines = await resultsOf(customer.client, run);
  expect(lines.map(({ data }) => data.products[0].asin)).toEqual([second, third]);
  await deleteSchedule(customer.client, schedule);
});

test('a new pattern or time zone, or a pause, changes the next run', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  const changes = [
    { cron: '30 9 * * 1' },
    { timezone: 'Asia/Tokyo' },
    { paused: true },
    { paused: false, cron: '15 * * * *' },
  ];
  const due = [await nextDueOf(souk, schedule)];
  for (const change of changes) {
    const { nextRuns } = (await patchSchedule(client, schedule, change)).json.data;
    due.push(await nextDueOf(souk, schedule));
    expect(due.at(-1)).toBe(nextRuns[0] ?? null);
  }
  expect(due[3]).toBeNull();
  expect(new Set(due).size).toBe(5);
  await deleteSchedule(client, schedule);
  expect(await nextDueOf(souk, schedule)).toBeUndefined();
});

test.for<[what: string, change: unknown, names: string]>([
  ['an empty object', {}, 'body: must contain at least one field to change'],
  ['a list', [], 'body: must be a JSON object'],
  ['an unknown field', { colour: 'red' }, 'colour: is not a known field'],
  ['a bad pattern', { cron: '0 0 30 2 *' }, 'cron: must be a cron pattern of five fields'],
  ['an unknown zone', { timezone: 'Mars/Olympus' }, 'timezone: "Mars/Olympus" is not a known time zone'],
  ['no name', { name: null }, 'name: must be a text'],
  ['a batch without items', { batch: { operation: 'market.product' } }, 'batch.items: is required'],
  ['an unknown operation', { batch: { operation: 'x', items: [{}] } }, 'batch.operation: must be one of'],
  ['a bad item', { batch: { operation: 'market.product', items: [{ domain: 77 }] } }, 'items[0].domain'],
  [
    'two windows',
    { window: 'any', batch: { ...productsHourly(['B0GOOD0001']).batch, window: 'off_peak' } },
    'window: is any',
  ],
  [
    'a limit beside a batch',
    { maxUnits: 5, batch: productsHourly(['B0GOOD0001']).batch },
    'maxUnits: must be sent in batch: batch.maxUnits',
  ],
  // The window is open from 11:00 to 23:00 UTC; this runs at 02:00 for an hour.
  [
    'a window that no run reaches',
    { window: 'off_peak', cron: '0 2 * * *', runHours: 1 },
    'window: contradicts cron and runHours',
  ],
])('refuses %s, names the field, and changes nothing', async ([_what, change, names], { client }) => {
  const before = await createSchedule(client, productsHourly([newAsin()]));
  const reply = await patchSchedule(client, before, change);
  expect(reply.json.msg).toContain(names);
  expect(reply.status).toBe(400);
  expect(await scheduleNow(client, before)).toEqual(before);
  await deleteSchedule(client, before);
});

test('validates a change together with the unchanged fields', async ({ client }) => {
  const hours = { cron: '0 2 * * *', runHours: 12, window: 'off_peak' };
  const schedule = await createSchedule(client, productsHourly([newAsin()], hours));
  const shorter = await patchSchedule(client, schedule, { runHours: 1 });
  expect(shorter.json.msg).toContain('window: contradicts cron and runHours');
  const limited = { ...productsHourly([newAsin(), newAsin()]).batch, maxUnits: 1 };
  expect((await patchSchedule(client, schedule, { batch: limited })).json.code).toBe('QUOTA_MAX_UNITS');
  expect((await patchSchedule(client, schedule, { runHours: 1, window: 'any' })).status).toBe(200);
  await deleteSchedule(client, schedule);
});

test('a dry run returns the changed schedule, and changes nothing', async ({ souk, client }) => {
  const before = await createSchedule(client, productsHourly([newAsin()]));
  const reply = await client.get(`/api/schedules/${before.scheduleId}?dryRun=1`, {
    method: 'PATCH',
    body: { cron: '0 0 1 1 *', paused: true },
  });
  expect(reply.json.data).toMatchObject({ dryRun: true, cron: '0 0 1 1 *', paused: true });
  expect(await scheduleNow(client, before)).toEqual(before);
  expect(await nextDueOf(souk, before)).toBe(before.nextRuns[0]);
  await deleteSchedule(client, before);
});

test('applies all concurrent changes', async ({ client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  const asins = Array.from({ length: 300 }, newAsin);
  const changes = [
    { name: 'Changed' },
    { cron: '30 9 * * 1' },
    { timezone: 'Asia/Tokyo' },
    { paused: true },
    { onlyChanges: true },
    { runHours: 5 },
    { batch: productsHourly(asins).batch },
  ];
  const replies = await Promise.all(changes.map((change) => patchSchedule(client, schedule, change)));
  expect(replies.map(({ status }) => status)).toEqual(changes.map(() => 200));
  expect(await scheduleNow(client, schedule)).toMatchObject({
    name: 'Changed',
    cron: '30 9 * * 1',
    timezone: 'Asia/Tokyo',
    paused: true,
    onlyChanges: true,
    runHours: 5,
    items: 300,
  });
  await deleteSchedule(client, schedule);
});

test('a change does not restore a schedule that is deleted concurrently', async ({ client }) => {
  const schedules = await Promise.all(
    Array.from({ length: 8 }, () => createSchedule(client, productsHourly([newAsin()]))),
  );
  const asins = Array.from({ length: 500 }, newAsin);
  const replies = await Promise.all(
    schedules.flatMap((schedule) => [
      patchSchedule(client, schedule, { batch: productsHourly(asins).batch }),
      deleteSchedule(client, schedule),
    ]),
  );
  for (const [i, reply] of replies.entries())
    expect([200, ...(i % 2 === 0 ? [404] : [])]).toContain(reply.status);
  expect((await client.get('/api/schedules')).json.data.schedules).toEqual([]);
});

test('a changed pattern drops a due run of the old pattern', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  souk.clock.advance(HOUR_MS / 2);
  await patchSchedule(client, schedule, { cron: '45 * * * *' });
  souk.clock.advance(HOUR_MS / 4);
  const dueAt = new Date(souk.clock.now()).toISOString();
  expect(await runsMade(souk, client, schedule, 1)).toMatchObject([{ trigger: 'tick', dueAt }]);
  souk.clock.advance(HOUR_MS / 4);
  await runsMade(souk, client, schedule, 1);
  await deleteSchedule(client, schedule);
});

test('a change with the same pattern keeps a due run', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  // The hour has ended, but the workers read the schedules only when the clock moves.
  const { rowCount } = await souk.database.query(`update schedules set next_due_at = $2 where id = $1`, [
    schedule.scheduleId,
    new Date(souk.clock.now()),
  ]);
  expect(rowCount).toBe(1);
  const same = { name: 'Renamed', cron: schedule.cron, timezone: schedule.timezone, paused: false };
  expect((await patchSchedule(client, schedule, same)).status).toBe(200);
  await runsMade(souk, client, schedule, 1);
  expect(await runsOf(client, schedule)).toHaveLength(1);
  await deleteSchedule(client, schedule);
});
