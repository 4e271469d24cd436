import { expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import {
  batchQueueOf,
  createSchedule,
  deleteSchedule,
  passHour,
  productsHourly,
  runsMade,
  runsOf,
} from '../../support/schedules.ts';
import { test } from '../../support/souk-test.ts';
import { loseRedis, stopWorkers } from '../../support/workers.ts';

// Each test starts on the hour, when no other schedule is due.
test.beforeEach(({ souk, upstream: _ }) => passHour(souk));

test('runs every tick even if Redis loses all data', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  expect(await loseRedis(souk)).toBeGreaterThan(0);
  passHour(souk);
  expect(await runsMade(souk, client, schedule, 1)).toMatchObject([{ trigger: 'tick', reason: null }]);
  await deleteSchedule(client, schedule);
});

test('a worker that starts runs due schedules immediately', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  await stopWorkers(souk);
  passHour(souk);
  await souk.addWorker();
  // The clock does not move.
  await expect.poll(() => runsOf(client, schedule)).toHaveLength(1);
  await deleteSchedule(client, schedule);
});

test('a job of an unknown kind, of another version, does nothing and ends', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  const queue = batchQueueOf(souk);
  const { logLines } = souk;
  logLines.length = 0;
  await queue.add('tick' as never, { kind: 'tick', scheduleId: schedule.scheduleId } as never);
  await expect.poll(() => queue.getJobCountByTypes('waiting', 'active', 'delayed')).toBe(0);
  expect(logLines.join('')).not.toContain('failed');
  expect(await runsOf(client, schedule)).toEqual([]);
  await deleteSchedule(client, schedule);
});
