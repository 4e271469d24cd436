import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { WORKER_POOL_NAMES } from '../../jobs/pools.ts';
import { knowsEveryProduct } from '../support/answers.ts';
import { finished, resultsOf } from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import { openSouk, type Souk, showLogOnFailure } from '../support/souk.ts';
import { leapAhead } from '../support/time.ts';

let souk: Souk;
let client: Client;
beforeAll(async () => {
  souk = await openSouk();
});
afterAll(() => souk.close());
beforeEach(async () => {
  client = await souk.client();
  souk.upstream.on('product', knowsEveryProduct);
});

const hourly = (asin: string) => ({
  name: 'Every hour',
  cron: '0 * * * *',
  timezone: 'Europe/Berlin',
  batch: { operation: 'market.product', items: [{ domain: 1, asin }] },
});

const runsOf = async (id: string) => (await client.get(`/api/schedules/${id}/runs`)).json.data.runs;

test('a schedule shows its next runs, and runs once when it is due', async () => {
  showLogOnFailure(souk);
  const reply = await client.post('/api/schedules', hourly('B0HOURLY01'));
  expect(reply.status).toBe(201);
  const { scheduleId, nextRuns, units } = reply.json.data;
  expect(units).toBe(1);
  expect(nextRuns[0]).toBe('2026-03-04T11:00:00.000Z');
  await leapAhead(souk, 3_600_000, WORKER_POOL_NAMES);
  await expect.poll(() => runsOf(scheduleId)).toHaveLength(1);
  const [run] = await runsOf(scheduleId);
  expect(run).toMatchObject({ trigger: 'tick', state: 'started', dueAt: '2026-03-04T11:00:00.000Z' });
  await finished(client, run);
  expect(await resultsOf(client, run)).toMatchObject([{ index: 0, code: '0000', data: { count: 1 } }]);
});

test('run now makes a batch at once', async () => {
  const { scheduleId } = (await client.post('/api/schedules', hourly('B0MANUAL01'))).json.data;
  const reply = await client.post(`/api/schedules/${scheduleId}/run`, {});
  expect(reply.status).toBe(202);
  expect(reply.json.data).toMatchObject({ run: { trigger: 'manual', state: 'started' } });
  await finished(client, reply.json.data.batch);
});

test('paused it is not due; changed it is due as it says now', async () => {
  const { scheduleId } = (await client.post('/api/schedules', hourly('B0PAUSED01'))).json.data;
  const paused = await client.get(`/api/schedules/${scheduleId}`, {
    method: 'PATCH',
    body: { paused: true },
  });
  expect(paused.json.data).toMatchObject({ paused: true, nextRuns: [] });
  const changed = await client.get(`/api/schedules/${scheduleId}`, {
    method: 'PATCH',
    body: { paused: false, cron: '30 9 * * 1' },
  });
  expect(changed.json.data.nextRuns[0]).toBe('2026-03-09T08:30:00.000Z');
});
