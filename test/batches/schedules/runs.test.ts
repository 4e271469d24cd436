import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { putUpload } from '../../../jobs/replies.ts';
import { redisKeys } from '../../../src/platform/redis-keys.ts';
import { knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { resultsOf } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import {
  batchQueueOf,
  comesAbout,
  createSchedule,
  deleteSchedule,
  ended,
  HOUR_MS,
  patchSchedule,
  productsHourly,
  runsMade,
  runsOf,
  runThrough,
} from '../../support/schedules.ts';
import { openSouk, type Souk, showLogOnFailure } from '../../support/souk.ts';

let souk: Souk;
let client: Client;
beforeAll(async () => {
  souk = await openSouk({ workers: 2 });
});
afterAll(() => souk.close());
beforeEach(async () => {
  showLogOnFailure(souk);
  client = await souk.client();
  souk.upstream.on('product', knowsEveryProduct);
  // Every test begins on an hour, in which nothing is due any more.
  passHour();
});

const hour = (offset: number) => {
  const begins = souk.clock.now() - (souk.clock.now() % HOUR_MS);
  return new Date(begins + offset * HOUR_MS).toISOString();
};

/** Moves time to the end of this hour. */
function passHour(): void {
  souk.clock.advance(HOUR_MS - (souk.clock.now() % HOUR_MS));
}

/** An upstream that answers when it is let. */
function heldUpstream(): () => void {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  souk.upstream.on('product', async (call, response) => {
    await held;
    return knowsEveryProduct(call, response);
  });
  return release;
}

test('a schedule runs once when it is due, and its batch says whose it is', async () => {
  const asin = newAsin();
  const schedule = await createSchedule(client, productsHourly([asin]));
  const dueAt = hour(1);
  passHour();
  const [run] = await runsMade(souk, client, schedule, 1);
  expect(run).toMatchObject({ trigger: 'tick', state: 'started', reason: null, dueAt });
  const batch = await ended(souk, client, { batchId: run?.batchId ?? '' });
  expect(batch).toMatchObject({
    state: 'done',
    name: 'Every hour',
    scheduleId: schedule.scheduleId,
    units: { quoted: 1, charged: 1 },
  });
  expect(Date.parse(batch.deadlineAt) - Date.parse(batch.createdAt)).toBe(24 * HOUR_MS);
  expect(await resultsOf(client, batch)).toMatchObject([{ index: 0, code: '0000', data: { count: 1 } }]);
  const listed = await client.get(`/api/batches?scheduleId=${schedule.scheduleId}`);
  expect(listed.json.data.batches).toEqual([batch]);
});

test('ten schedules and two workers: each schedule runs once', async () => {
  const schedules = await Promise.all(
    Array.from({ length: 10 }, () => createSchedule(client, productsHourly([newAsin()]))),
  );
  passHour();
  for (const schedule of schedules) {
    const [run] = await runsMade(souk, client, schedule, 1);
    await ended(souk, client, run ?? { batchId: null });
  }
  const { rows } = await souk.database.query(
    'select schedule_id, due_at from schedule_runs group by schedule_id, due_at having count(*) > 1',
  );
  expect(rows).toEqual([]);
  for (const schedule of schedules) await deleteSchedule(client, schedule);
});

test('ticks that nothing ran at are one run, for the last of them, and it says that it is late', async () => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  const dueAt = hour(5);
  souk.clock.advance(5 * HOUR_MS + HOUR_MS / 4);
  const [run] = await runsMade(souk, client, schedule, 1);
  expect(run).toMatchObject({ trigger: 'missed', state: 'started', dueAt });
  await ended(souk, client, run ?? { batchId: null });
  const [next] = (await client.get(`/api/schedules/${schedule.scheduleId}`)).json.data.nextRuns;
  expect(next).toBe(new Date(Date.parse(dueAt) + HOUR_MS).toISOString());
  passHour();
  expect((await runsMade(souk, client, schedule, 2))[0]).toMatchObject({ trigger: 'tick' });
});

test('while a run goes on the next one is skipped, and says why; afterwards they come again', async () => {
  const release = heldUpstream();
  const schedule = await createSchedule(client, productsHourly([newAsin()], { cron: '*/2 * * * *' }));
  souk.clock.advance(120_000);
  const [first] = await runsMade(souk, client, schedule, 1);
  await souk.upstream.received(1, 'product');
  // The call under way times out and is made again; the batch is not done.
  souk.clock.advance(120_000);
  const [second] = await runsMade(souk, client, schedule, 2);
  expect(second).toMatchObject({
    state: 'skipped',
    reason: 'The run before has not finished.',
    batchId: null,
    links: { batch: null },
  });
  const manual = await client.post(`/api/schedules/${schedule.scheduleId}/run`, {});
  expect(manual.json.data).toMatchObject({ run: { trigger: 'manual', state: 'skipped' }, batch: null });
  release();
  souk.upstream.on('product', knowsEveryProduct);
  await patchSchedule(client, schedule, { cron: '0 * * * *' });
  await ended(souk, client, first ?? { batchId: null });
  passHour();
  await comesAbout(souk, async () => (await runsOf(client, schedule)).length >= 4);
  expect((await runsOf(client, schedule))[0]).toMatchObject({ trigger: 'tick', state: 'started' });
  await deleteSchedule(client, schedule);
});

test('run now runs beside the ticks, and takes none of them', async () => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  souk.clock.advance(HOUR_MS / 2);
  const reply = await client.post(`/api/schedules/${schedule.scheduleId}/run`, {});
  expect(reply.status).toBe(202);
  const { run, batch } = reply.json.data;
  expect(run).toMatchObject({ trigger: 'manual', state: 'started', batchId: batch.batchId });
  expect(reply.headers.location).toBe(`/api/batches/${batch.batchId}`);
  await ended(souk, client, run);
  souk.clock.advance(HOUR_MS / 2);
  expect(await runsMade(souk, client, schedule, 2)).toMatchObject([
    { trigger: 'tick' },
    { trigger: 'manual' },
  ]);
  await deleteSchedule(client, schedule);
});

test('an order to run that is read twice is one run', async () => {
  const { accountId, key } = await souk.account();
  client = souk.clientOf(key);
  const { scheduleId } = await createSchedule(client, productsHourly([newAsin()], { paused: true }));
  const { run } = (await client.post(`/api/schedules/${scheduleId}/run`, '')).json.data;
  await ended(souk, client, run);
  // As it is when a worker dies after it has made the run: the order is still there, and the queue gives it to another.
  const redis = new Redis(souk.redisUrl);
  await putUpload(redis, redisKeys(souk.redisNamespace), run.runId, '');
  redis.disconnect();
  const queue = batchQueueOf(souk);
  await queue.add('run', { kind: 'run', uploadId: run.runId, accountId, scheduleId });
  await expect.poll(() => queue.getJobCountByTypes('waiting', 'active')).toBe(0);
  expect(await runsOf(client, { scheduleId })).toEqual([run]);
});

test('what passes while it is paused is not made up for', async () => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  await patchSchedule(client, schedule, { paused: true });
  souk.clock.advance(3 * HOUR_MS + HOUR_MS / 2);
  const resumed = await patchSchedule(client, schedule, { paused: false });
  expect(resumed.json.data.nextRuns[0]).toBe(hour(1));
  const dueAt = hour(1);
  souk.clock.advance(5_000);
  expect(await runsOf(client, schedule)).toEqual([]);
  souk.clock.advance(HOUR_MS / 2);
  expect(await runsMade(souk, client, schedule, 1)).toMatchObject([{ trigger: 'tick', dueAt }]);
  await deleteSchedule(client, schedule);
});

test('a schedule that is paused runs when somebody wants it to', async () => {
  const schedule = await createSchedule(client, productsHourly([newAsin()], { paused: true }));
  expect(schedule.nextRuns).toEqual([]);
  expect(await runThrough(souk, client, schedule)).toMatchObject({ state: 'done' });
});

test('deleted while it runs: the batch ends as it would have, and nothing comes again', async () => {
  const release = heldUpstream();
  const schedule = await createSchedule(client, productsHourly([newAsin()], { onlyChanges: true }));
  const { run } = (await client.post(`/api/schedules/${schedule.scheduleId}/run`, {})).json.data;
  await souk.upstream.received(1, 'product');
  const deleted = await deleteSchedule(client, schedule);
  expect(deleted.json.data).toEqual({ deleted: true, scheduleId: schedule.scheduleId });
  release();
  const batch = await ended(souk, client, run);
  expect(batch).toMatchObject({ state: 'done', counts: { done: 1, unchanged: 0 }, units: { charged: 1 } });
  expect(await resultsOf(client, batch)).toHaveLength(1);
  expect((await client.get(`/api/schedules/${schedule.scheduleId}`)).status).toBe(404);
  souk.clock.advance(2 * HOUR_MS);
  await souk.workers[0]?.reconcile();
  const listed = await client.get(`/api/batches?scheduleId=${schedule.scheduleId}`);
  expect(listed.json.data.batches).toHaveLength(1);
});

test('items that are no good any more make a run that has failed, and says which', async () => {
  const schedule = await createSchedule(client, productsHourly([newAsin(), newAsin()]));
  // As it is when the rules of an operation change: what was good is stored, and is not now.
  const other = await createSchedule(client, productsHourly([newAsin()], { paused: true }));
  await souk.database.query(
    `update schedules set operation = 'market.variations', items = s.items from (select items from schedules where id = $1) s where id = $2`,
    [other.scheduleId, schedule.scheduleId],
  );
  passHour();
  const [run] = await runsMade(souk, client, schedule, 1);
  expect(run).toMatchObject({
    state: 'failed',
    batchId: null,
    reason: expect.stringMatching(/^items\[0\]\.\w+: /),
  });
  await souk.database.query(`update schedules set operation = 'market.gone' where id = $1`, [
    schedule.scheduleId,
  ]);
  passHour();
  const [next] = await runsMade(souk, client, schedule, 2);
  expect(next).toMatchObject({ state: 'failed', reason: 'There is no operation market.gone any more.' });
  await souk.database.query('delete from schedules where id = $1', [schedule.scheduleId]);
});

test('a schedule that cannot be run holds up no other', async () => {
  const [broken, sound] = [
    await createSchedule(client, productsHourly([newAsin()])),
    await createSchedule(client, productsHourly([newAsin()])),
  ];
  await souk.database.query(`update schedules set items = 'no gzip' where id = $1`, [broken.scheduleId]);
  passHour();
  await runsMade(souk, client, sound, 1);
  expect(await runsOf(client, broken)).toEqual([]);
  await souk.database.query('delete from schedules where id = any($1)', [
    [broken.scheduleId, sound.scheduleId],
  ]);
});

test('an off-peak run waits for the window', async () => {
  // The window is open from 11:00 to 23:00 UTC.
  souk.clock.advance(24 * HOUR_MS - (souk.clock.now() % (24 * HOUR_MS)));
  const schedule = await createSchedule(
    client,
    productsHourly([newAsin()], { cron: '0 2 * * *', runHours: 12, window: 'off_peak' }),
  );
  souk.clock.advance(2 * HOUR_MS);
  const [run] = await runsMade(souk, client, schedule, 1);
  const now = async () => (await client.get(`/api/batches/${run?.batchId}`)).json.data;
  await comesAbout(souk, async () => (await now()).state === 'waiting');
  expect(await now()).toMatchObject({
    waiting: { reason: 'OFF_PEAK_WINDOW', until: expect.stringMatching(/T11:00/) },
  });
  souk.clock.advance(9 * HOUR_MS);
  expect(await ended(souk, client, run ?? { batchId: null })).toMatchObject({ state: 'done' });
  await deleteSchedule(client, schedule);
});

test('runs are read a page at a time, the newest first, for ninety days', async () => {
  const schedule = await createSchedule(client, productsHourly([newAsin()], { paused: true }));
  const ids: string[] = [];
  for (let i = 0; i < 3; i += 1) {
    const { run } = (await client.post(`/api/schedules/${schedule.scheduleId}/run`, {})).json.data;
    ids.unshift(run.runId);
  }
  const path = `/api/schedules/${schedule.scheduleId}/runs`;
  const first = (await client.get(`${path}?limit=2`)).json.data;
  const second = (await client.get(`${path}?limit=2&cursor=${first.nextCursor}`)).json.data;
  expect([...first.runs, ...second.runs].map(({ runId }) => runId)).toEqual(ids);
  expect(second.nextCursor).toBeNull();
  expect((await client.get(`${path}?limit=no`)).json.msg).toContain('limit: ');
  souk.clock.advance(91 * 24 * HOUR_MS);
  await comesAbout(souk, async () => (await runsOf(client, schedule)).length === 0);
});
