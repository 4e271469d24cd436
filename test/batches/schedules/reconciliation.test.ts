import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { BatchQueue } from '../../../jobs/batch-queue.ts';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import type { Client } from '../../support/client.ts';
import {
  batchQueueOf,
  comesAbout,
  createSchedule,
  HOUR_MS,
  productsHourly,
  runsMade,
} from '../../support/schedules.ts';
import { openSouk, type Souk } from '../../support/souk.ts';
import { loseRedis } from '../../support/workers.ts';

let souk: Souk;
let client: Client;
let queue: BatchQueue;
beforeAll(async () => {
  souk = await openSouk();
});
afterAll(() => souk.close());
beforeEach(async () => {
  client = await souk.client();
  queue = batchQueueOf(souk);
  souk.upstream.on('product', knowsEveryProduct);
});

async function schedulers(): Promise<Map<string, string>> {
  const found = await queue.getJobSchedulers(0, -1);
  return new Map(found.map(({ key, pattern, tz }) => [key, `${pattern} ${tz}`]));
}

/** What the queue is told of schedules is looked at every minute. */
async function soon(isAsItShouldBe: (now: Map<string, string>) => boolean): Promise<void> {
  await comesAbout(souk, async () => isAsItShouldBe(await schedulers()));
}

test('what Redis loses is set again, and no tick is missed by it', async () => {
  souk.clock.advance(HOUR_MS - (souk.clock.now() % HOUR_MS));
  const running = await createSchedule(client, productsHourly([newAsin()]));
  const paused = await createSchedule(client, productsHourly([newAsin()], { paused: true }));
  expect(await loseRedis(souk)).toBeGreaterThan(0);
  expect(await schedulers()).toEqual(new Map());
  await soon((now) => now.get(running.scheduleId) === '0 * * * * UTC');
  expect((await schedulers()).has(paused.scheduleId)).toBe(false);
  const delayed = await queue.getDelayed();
  expect(delayed.filter(({ data }) => data.kind === 'tick')).toHaveLength(1);
  souk.clock.advance(HOUR_MS - (souk.clock.now() % HOUR_MS));
  await runsMade(souk, client, running, 1);
});

test('schedulers of nothing are removed', async () => {
  const orphan = '00000000-0000-7000-8000-00000000abcd';
  await queue.upsertJobScheduler(
    orphan,
    { pattern: '0 0 1 1 *' },
    {
      name: 'tick',
      data: { kind: 'tick', scheduleId: orphan },
    },
  );
  expect((await schedulers()).has(orphan)).toBe(true);
  await soon((now) => !now.has(orphan));
});

test('a tick of what is gone runs nothing, and is no failure', async () => {
  const { logLines } = souk;
  logLines.length = 0;
  await queue.add('tick', { kind: 'tick', scheduleId: '00000000-0000-7000-8000-00000000dcba' });
  await expect.poll(() => queue.getJobCountByTypes('waiting', 'active')).toBe(0);
  expect(logLines.join('')).not.toContain('failed');
});

test('what has changed in PostgreSQL alone is changed in the queue', async () => {
  const pattern = await createSchedule(client, productsHourly([newAsin()]));
  const zone = await createSchedule(client, productsHourly([newAsin()]));
  const stopped = await createSchedule(client, productsHourly([newAsin()]));
  const { database } = souk;
  await database.query(`update schedules set cron = '5 5 * * *' where id = $1`, [pattern.scheduleId]);
  await database.query(`update schedules set timezone = 'Asia/Tokyo' where id = $1`, [zone.scheduleId]);
  await database.query(`update schedules set paused = true, next_due_at = null where id = $1`, [
    stopped.scheduleId,
  ]);
  await soon(
    (now) =>
      now.get(pattern.scheduleId) === '5 5 * * * UTC' &&
      now.get(zone.scheduleId) === '0 * * * * Asia/Tokyo' &&
      !now.has(stopped.scheduleId),
  );
});

test('a process that starts puts the queue right at once', async () => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  await Promise.all(souk.workers.splice(0).map((worker) => worker.close()));
  await loseRedis(souk);
  await souk.addWorker();
  // Time stands still.
  await expect.poll(async () => (await schedulers()).has(schedule.scheduleId)).toBe(true);
});

test('the queue reads patterns as schedules are read, where clocks change by half an hour as well', async () => {
  const fields = { cron: '0 2 * * *', timezone: 'Australia/Lord_Howe' };
  const { scheduleId } = await createSchedule(client, productsHourly([newAsin()], fields));
  const strategy = queue.opts.settings?.repeatStrategy;
  const before = Date.parse('2026-04-03T15:00:00Z');
  expect(await strategy?.(before, { pattern: fields.cron, tz: fields.timezone }, 'tick')).toBe(
    Date.parse('2026-04-04T15:30:00Z'),
  );
  expect(await queue.getJobScheduler(scheduleId)).toMatchObject({ next: expect.any(Number) });
});
