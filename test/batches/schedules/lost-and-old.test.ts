import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import {
  batchQueueOf,
  createSchedule,
  deleteSchedule,
  HOUR_MS,
  productsHourly,
  runsMade,
  runsOf,
} from '../../support/schedules.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { loseRedis, stopWorkers } from '../../support/workers.ts';

let souk: Souk;
let client: Client;
beforeAll(async () => {
  souk = await openSouk();
});
afterAll(() => souk.close());
beforeEach(async () => {
  client = await souk.client();
  souk.upstream.on('product', knowsEveryProduct);
  passHour();
});

/** Moves time to the end of this hour. */
function passHour(): void {
  souk.clock.advance(HOUR_MS - (souk.clock.now() % HOUR_MS));
}

test('a Redis that loses everything costs no tick', async () => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  expect(await loseRedis(souk)).toBeGreaterThan(0);
  passHour();
  expect(await runsMade(souk, client, schedule, 1)).toMatchObject([{ trigger: 'tick', state: 'started' }]);
  await deleteSchedule(client, schedule);
});

test('a worker that starts runs at once what is due', async () => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  await stopWorkers(souk);
  passHour();
  await souk.addWorker();
  // Time stands still.
  await expect.poll(() => runsOf(client, schedule)).toHaveLength(1);
  await deleteSchedule(client, schedule);
});

/** What an earlier version asked BullMQ to add at every tick of a schedule. */
function oldTick(scheduleId: string): never {
  return { kind: 'tick', scheduleId } as never;
}

test('a worker that starts removes the job schedulers of an earlier version', async () => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  const queue = batchQueueOf(souk);
  await queue.upsertJobScheduler(
    schedule.scheduleId,
    { pattern: '0 * * * *' },
    { name: 'tick' as never, data: oldTick(schedule.scheduleId) },
  );
  expect(await queue.getJobSchedulersCount()).toBe(1);
  expect(await queue.getDelayedCount()).toBe(1);
  await souk.addWorker();
  expect(await queue.getJobSchedulersCount()).toBe(0);
  expect(await queue.getDelayedCount()).toBe(0);
  await deleteSchedule(client, schedule);
});

test('a tick that the queue of an earlier version adds runs nothing and does not fail', async () => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  const queue = batchQueueOf(souk);
  const { logLines } = souk;
  logLines.length = 0;
  await queue.add('tick' as never, oldTick(schedule.scheduleId));
  await expect.poll(() => queue.getJobCountByTypes('waiting', 'active', 'delayed')).toBe(0);
  expect(logLines.join('')).not.toContain('failed');
  expect(await runsOf(client, schedule)).toEqual([]);
  await deleteSchedule(client, schedule);
});
