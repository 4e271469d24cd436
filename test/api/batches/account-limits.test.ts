import { expect } from 'vitest';
import { asinsFrom, finished } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

test.override('soukOptions', { accountLimits: { openBatches: 2, schedules: 2 } });

const batch = {
  operation: 'market.product',
  params: { domain: 1 },
  split: { asins: asinsFrom('B0LIMIT', 1) },
};
/** A batch that stays open: the off-peak window is closed. */
const openBatch = (client: Client, more: object = {}) =>
  client.post('/api/batches', { ...batch, window: 'off_peak', ...more });
const newSchedule = (client: Client) =>
  client.post('/api/schedules', { name: 'Weekly', cron: '0 6 * * 1', timezone: 'UTC', batch });

test('refuses a third unfinished batch of an account, also for concurrent requests', async ({ client }) => {
  const replies = await Promise.all(Array.from({ length: 6 }, () => openBatch(client)));
  const accepted = replies.filter(({ status }) => status === 202);
  const refused = replies.filter(({ status }) => status !== 202);
  expect([accepted.length, refused.length]).toEqual([2, 4]);
  for (const { status, json, headers } of refused) {
    expect([status, json.code, headers['retry-after']]).toEqual([429, 'LIMIT_REACHED', '60']);
    expect(json.metadata).toEqual({ limit: 2, of: 'openBatches' });
  }
  expect(await unitsUsed(client)).toBe(0);
  const first = accepted[0]?.json.data;
  await client.get(`/api/batches/${first.batchId}`, { method: 'DELETE' });
  await finished(client, first);
  expect((await openBatch(client)).status).toBe(202);
});

test('a quote says whether a third unfinished batch would be accepted', async ({ client }) => {
  const quote = async () => (await client.post('/api/batches/quote', batch)).json.data;
  await openBatch(client);
  expect(await quote()).toMatchObject({ admitted: true, rejectReason: null, rejectMessage: null });
  await openBatch(client);
  expect(await quote()).toMatchObject({
    units: 1,
    admitted: false,
    rejectReason: 'LIMIT_REACHED',
    rejectMessage: expect.stringContaining('The account has 2 batches that are not finished'),
  });
});

test('accepts a repeated request at the limit, and batches of other accounts', async ({ souk, client }) => {
  const first = await openBatch(client, { idempotencyKey: 'same' });
  expect((await openBatch(client)).status).toBe(202);
  const repeated = await openBatch(client, { idempotencyKey: 'same' });
  expect([repeated.status, repeated.json.data.batchId]).toEqual([202, first.json.data.batchId]);
  expect((await openBatch(client)).status).toBe(429);
  expect((await openBatch(await souk.client())).status).toBe(202);
});

test('refuses a third schedule of an account, also for concurrent requests', async ({ client }) => {
  const replies = await Promise.all(Array.from({ length: 5 }, () => newSchedule(client)));
  const refused = replies.filter(({ status }) => status !== 201);
  expect(refused).toHaveLength(3);
  for (const { status, json } of refused)
    expect([status, json.code, json.metadata]).toEqual([429, 'LIMIT_REACHED', { limit: 2, of: 'schedules' }]);
  const [created] = replies.filter(({ status }) => status === 201);
  await client.get(`/api/schedules/${created?.json.data.scheduleId}`, { method: 'DELETE' });
  expect((await newSchedule(client)).status).toBe(201);
});

test('refuses a run of a schedule while the account has two unfinished batches, and records none', async ({
  client,
}) => {
  const { scheduleId } = (await newSchedule(client)).json.data;
  await openBatch(client);
  await openBatch(client);
  const { status, json } = await client.post(`/api/schedules/${scheduleId}/run`, {});
  expect([status, json.code, json.msg]).toEqual([
    429,
    'LIMIT_REACHED',
    'The account has 2 batches that are not finished.',
  ]);
  expect((await client.get(`/api/schedules/${scheduleId}/runs`)).json.data.runs).toEqual([]);
});
