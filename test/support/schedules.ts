import { Redis } from 'ioredis';
import { expect, onTestFinished, vi } from 'vitest';
import type { RunView } from '../../src/batches/schedules/run.ts';
import type { ScheduleView } from '../../src/batches/schedules/schedule.ts';
import { type BatchQueue, openBatchQueue } from '../../src/batches/uploads.ts';
import { HOUR_MS } from '../../src/platform/durations.ts';
import { createLogger } from '../../src/platform/log.ts';
import { redisKeys } from '../../src/platform/redis-keys.ts';
import type { Client, Reply } from './client.ts';
import type { Souk } from './souk.ts';

/** The body of a request for a schedule of products, hourly unless `fields` has another pattern. */
export function productsHourly(asins: readonly string[], fields: Record<string, unknown> = {}) {
  return {
    name: 'Every hour',
    cron: '0 * * * *',
    batch: { operation: 'market.product', params: { domain: 1 }, split: { asins } },
    ...fields,
  };
}

export async function createSchedule(client: Client, body: unknown): Promise<ScheduleView> {
  const reply = await client.post('/api/schedules', body);
  expect(reply.json).toMatchObject({ code: '0000' });
  expect(reply.status).toBe(201);
  return reply.json.data;
}

export async function patchSchedule(
  client: Client,
  { scheduleId }: { scheduleId: string },
  body: unknown,
): Promise<Reply> {
  return client.get(`/api/schedules/${scheduleId}`, { method: 'PATCH', body });
}

export async function deleteSchedule(client: Client, { scheduleId }: { scheduleId: string }): Promise<Reply> {
  return client.get(`/api/schedules/${scheduleId}`, { method: 'DELETE' });
}

export async function scheduleNow(
  client: Client,
  { scheduleId }: { scheduleId: string },
): Promise<ScheduleView> {
  return (await client.get(`/api/schedules/${scheduleId}`)).json.data;
}

/** Moves time to the end of this hour. */
export function passHour({ clock }: Souk): void {
  clock.advance(HOUR_MS - (clock.now() % HOUR_MS));
}

/** The newest first. */
export async function runsOf(client: Client, { scheduleId }: { scheduleId: string }): Promise<RunView[]> {
  return (await client.get(`/api/schedules/${scheduleId}/runs`)).json.data.runs;
}

/** Waits until a schedule has `count` runs, and returns them. */
export async function runsMade(
  souk: Souk,
  client: Client,
  schedule: { scheduleId: string },
  count: number,
): Promise<RunView[]> {
  await comesAbout(souk, async () => (await runsOf(client, schedule)).length >= count);
  const runs = await runsOf(client, schedule);
  expect(runs).toHaveLength(count);
  return runs;
}

/** Advances the clock, by default by one second at a time, until a condition holds. */
export async function comesAbout(
  souk: Souk,
  hasHappened: () => Promise<boolean>,
  stepMs = 1_000,
): Promise<void> {
  const look = async () => {
    if (await hasHappened()) return true;
    souk.clock.advance(stepMs);
    return false;
  };
  // expect.poll works in tests only, and not in hooks.
  await vi.waitUntil(look, { interval: 25, timeout: 20_000 });
}

/** Advances the clock until the batch of a run has ended. */
export async function ended(
  souk: Souk,
  client: Client,
  { batchId }: Pick<RunView, 'batchId'>,
  stepMs?: number,
) {
  const now = async () => (await client.get(`/api/batches/${batchId}`)).json.data;
  await comesAbout(souk, async () => (await now()).finishedAt !== null, stepMs);
  return now();
}

/** Runs a schedule manually, and waits for the end of its batch. @returns the batch. */
export async function runThrough(
  souk: Souk,
  client: Client,
  { scheduleId }: { scheduleId: string },
  stepMs?: number,
) {
  const reply = await client.post(`/api/schedules/${scheduleId}/run`, {});
  expect(reply.status).toBe(202);
  return ended(souk, client, reply.json.data.run, stepMs);
}

/** A service's queue of the pool `batch`; closed after the test. */
export function batchQueueOf({ redisUrl, redisNamespace }: Souk): BatchQueue {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queue = openBatchQueue(redis, redisKeys(redisNamespace), createLogger('silent'));
  onTestFinished(async () => {
    await queue.close();
    redis.disconnect();
  });
  return queue;
}
