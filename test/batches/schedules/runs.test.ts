import { Readable } from 'node:stream';
import { expect } from 'vitest';
import { addKey, revokeKeys } from '../../../src/accounts/account-keys.ts';
import { WITHOUT_LIMITS } from '../../../src/accounts/key-settings.ts';
import { RUNS_KEPT } from '../../../src/batches/schedules/run.ts';
import { putUpload } from '../../../src/batches/uploads.ts';
import { HOUR_MS } from '../../../src/platform/durations.ts';
import { redisKeys } from '../../../src/platform/redis-keys.ts';
import { holdProducts, knowsEveryProduct, newAsin } from '../../support/answers.ts';
import { resultsOf } from '../../support/batches.ts';
import {
  batchQueueOf,
  comesAbout,
  createSchedule,
  deleteSchedule,
  ended,
  passHour,
  patchSchedule,
  productsHourly,
  runsMade,
  runsOf,
  runThrough,
} from '../../support/schedules.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

test.override('soukOptions', { workers: 2 });

// Each test starts on the hour, when no other schedule is due.
test.beforeEach(({ souk, upstream: _ }) => passHour(souk));

/** The start of the hour that is so many hours later. */
function hour({ clock }: Souk, later: number): string {
  const start = clock.now() - (clock.now() % HOUR_MS);
  return new Date(start + later * HOUR_MS).toISOString();
}

/** The state of a run whose batch may have finished already. */
const BEGUN = expect.stringMatching(/^(started|finished)$/);

test('a due schedule runs once, and its batch has its id', async ({ souk, client }) => {
  const asin = newAsin();
  const schedule = await createSchedule(client, productsHourly([asin]));
  const dueAt = hour(souk, 1);
  passHour(souk);
  const [run] = await runsMade(souk, client, schedule, 1);
  expect(run).toMatchObject({ trigger: 'tick', state: BEGUN, reason: null, dueAt });
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
  expect(await runsOf(client, schedule)).toMatchObject([{ ...run, state: 'finished' }]);
});

test('two workers run each of ten schedules once', async ({ souk, client }) => {
  const schedules = await Promise.all(
    Array.from({ length: 10 }, () => createSchedule(client, productsHourly([newAsin()]))),
  );
  passHour(souk);
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

test('makes one run with the trigger "missed" for several missed ticks', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  const dueAt = hour(souk, 5);
  souk.clock.advance(5 * HOUR_MS + HOUR_MS / 4);
  const [run] = await runsMade(souk, client, schedule, 1);
  expect(run).toMatchObject({ trigger: 'missed', state: BEGUN, dueAt });
  await ended(souk, client, run ?? { batchId: null });
  const [next] = (await client.get(`/api/schedules/${schedule.scheduleId}`)).json.data.nextRuns;
  expect(next).toBe(new Date(Date.parse(dueAt) + HOUR_MS).toISOString());
  passHour(souk);
  expect((await runsMade(souk, client, schedule, 2))[0]).toMatchObject({ trigger: 'tick' });
});

test('skips ticks during a run, and runs again afterwards', async ({ souk, client, upstream }) => {
  const release = holdProducts(upstream);
  const schedule = await createSchedule(client, productsHourly([newAsin()], { cron: '*/2 * * * *' }));
  souk.clock.advance(120_000);
  const [first] = await runsMade(souk, client, schedule, 1);
  await comesAbout(souk, async () => upstream.calls.length > 0);
  // The call in progress times out and is made again, so the batch is not done.
  souk.clock.advance(120_000);
  const [second, running] = await runsMade(souk, client, schedule, 2);
  expect(running).toMatchObject({ runId: first?.runId, state: 'started' });
  expect(second).toMatchObject({
    state: 'skipped',
    reason: 'The previous run has not finished.',
    batchId: null,
    links: { batch: null },
  });
  const manual = await client.post(`/api/schedules/${schedule.scheduleId}/run`, {});
  expect([manual.status, manual.json.code, manual.json.msg]).toEqual([
    409,
    'BATCH_STATE',
    'The previous run has not finished.',
  ]);
  expect(await runsOf(client, schedule)).toHaveLength(2);
  release();
  upstream.on('product', knowsEveryProduct);
  await patchSchedule(client, schedule, { cron: '0 * * * *' });
  await ended(souk, client, first ?? { batchId: null });
  passHour(souk);
  await comesAbout(souk, async () => (await runsOf(client, schedule)).length >= 3);
  expect((await runsOf(client, schedule))[0]).toMatchObject({ trigger: 'tick', state: BEGUN });
  await deleteSchedule(client, schedule);
});

test('a manual run does not replace the next tick', async ({ souk, client }) => {
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

test('a request for a run, delivered twice, makes one run', async ({ souk, account, client, redis }) => {
  const { accountId } = account;
  const { scheduleId } = await createSchedule(client, productsHourly([newAsin()], { paused: true }));
  const { run } = (await client.post(`/api/schedules/${scheduleId}/run`, '')).json.data;
  await ended(souk, client, run);
  // If a worker dies after it has made the run, the upload still exists and the queue delivers it to another worker.
  await putUpload(redis, redisKeys(souk.redisNamespace), run.runId, Readable.from([]));
  const queue = batchQueueOf(souk);
  const ids = { uploadId: run.runId, accountId, keyId: null, scheduleId };
  await queue.add('run', { kind: 'run', ...ids, of: 'schedule' });
  await expect.poll(() => queue.getJobCountByTypes('waiting', 'active')).toBe(0);
  expect(await runsOf(client, { scheduleId })).toEqual([{ ...run, state: BEGUN }]);
});

test('a paused schedule does not make up for missed ticks', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  await patchSchedule(client, schedule, { paused: true });
  souk.clock.advance(3 * HOUR_MS + HOUR_MS / 2);
  const resumed = await patchSchedule(client, schedule, { paused: false });
  expect(resumed.json.data.nextRuns[0]).toBe(hour(souk, 1));
  const dueAt = hour(souk, 1);
  souk.clock.advance(5_000);
  expect(await runsOf(client, schedule)).toEqual([]);
  souk.clock.advance(HOUR_MS / 2);
  expect(await runsMade(souk, client, schedule, 1)).toMatchObject([{ trigger: 'tick', dueAt }]);
  await deleteSchedule(client, schedule);
});

test('a paused schedule can be run manually', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()], { paused: true }));
  expect(schedule.nextRuns).toEqual([]);
  expect(await runThrough(souk, client, schedule)).toMatchObject({ state: 'done' });
});

test('deletes a schedule during a run, which finishes as the last', async ({ souk, client, upstream }) => {
  const release = holdProducts(upstream);
  const schedule = await createSchedule(client, productsHourly([newAsin()], { onlyChanges: true }));
  const { run } = (await client.post(`/api/schedules/${schedule.scheduleId}/run`, {})).json.data;
  await comesAbout(souk, async () => upstream.calls.length > 0);
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

test('a run fails with the index of an item that has become invalid', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin(), newAsin()]));
  // The rules of an operation may change after its items were stored.
  const other = await createSchedule(client, productsHourly([newAsin()], { paused: true }));
  await souk.database.query(
    `update schedules set operation = 'market.variations', items = s.items from (select items from schedules where id = $1) s where id = $2`,
    [other.scheduleId, schedule.scheduleId],
  );
  passHour(souk);
  const [run] = await runsMade(souk, client, schedule, 1);
  expect(run).toMatchObject({
    state: 'failed',
    batchId: null,
    reason: expect.stringMatching(/^items\[0\]\.\w+: /),
  });
  await souk.database.query(`update schedules set operation = 'market.gone' where id = $1`, [
    schedule.scheduleId,
  ]);
  passHour(souk);
  const [next] = await runsMade(souk, client, schedule, 2);
  expect(next).toMatchObject({ state: 'failed', reason: 'The operation market.gone no longer exists.' });
  await souk.database.query('delete from schedules where id = $1', [schedule.scheduleId]);
});

test('a schedule that cannot be read does not delay other schedules', async ({ souk, client }) => {
  const [broken, sound] = [
    await createSchedule(client, productsHourly([newAsin()])),
    await createSchedule(client, productsHourly([newAsin()])),
  ];
  await souk.database.query(`update schedules set items = 'no gzip' where id = $1`, [broken.scheduleId]);
  passHour(souk);
  await runsMade(souk, client, sound, 1);
  expect(await runsOf(client, broken)).toEqual([]);
  await souk.database.query('delete from schedules where id = any($1)', [
    [broken.scheduleId, sound.scheduleId],
  ]);
});

test('an off-peak run waits for the window', async ({ souk, client }) => {
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

test('lists runs in pages, newest first, and deletes them after ninety days', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()], { paused: true }));
  const ids: string[] = [];
  for (let i = 0; i < 3; i += 1) {
    const { run } = (await client.post(`/api/schedules/${schedule.scheduleId}/run`, {})).json.data;
    ids.unshift(run.runId);
    await ended(souk, client, run);
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

test('a run has succeeded if an item has a result, also after a retry of its batch', async ({
  souk,
  client,
  upstream,
}) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()], { paused: true, runHours: 1 }));
  const outcomes = async () => {
    const { rows } = await souk.database.query<{ succeeded: boolean | null }>(
      'select succeeded from schedule_runs where schedule_id = $1 order by id',
      [schedule.scheduleId],
    );
    return rows.map(({ succeeded }) => succeeded);
  };
  upstream.on('product', () => ({ status: 500, json: {} }));
  const batch = await runThrough(souk, client, schedule, 10_000);
  expect(await outcomes()).toEqual([false]);
  upstream.on('product', knowsEveryProduct);
  const { json } = await client.post(`/api/batches/${batch.batchId}/retry`, {});
  expect(json.code).toBe('0000');
  await ended(souk, client, batch);
  expect(await outcomes()).toEqual([true]);
  const asked = upstream.calls.length;
  const open = holdProducts(upstream);
  souk.clock.advance(2 * HOUR_MS);
  await client.post(`/api/schedules/${schedule.scheduleId}/run`, {});
  await upstream.received(asked + 1);
  expect(await outcomes()).toEqual([true, null]);
  open();
});

test('keeps the newest runs of a schedule', async ({ souk, client }) => {
  const schedule = await createSchedule(client, productsHourly([newAsin()]));
  await souk.database.query(
    `insert into schedule_runs (id, schedule_id, due_at, started_at, trigger, state, reason)
     select lpad(i::text, 32, '0')::uuid, $1, $2, $2, 'manual', 'skipped', 'Older.' from generate_series(1, $3) as i`,
    [schedule.scheduleId, new Date(souk.clock.now()), RUNS_KEPT],
  );
  passHour(souk);
  await comesAbout(souk, async () => (await runsOf(client, schedule))[0]?.trigger === 'tick');
  const { rows } = await souk.database.query<{ count: number; oldest: string }>(
    'select count(*), min(id::text) as oldest from schedule_runs where schedule_id = $1',
    [schedule.scheduleId],
  );
  expect(rows).toEqual([{ count: RUNS_KEPT, oldest: expect.stringMatching(/0002$/) }]);
});

test('a schedule of a key with limits is skipped once the key is revoked, and runs again after another key has changed it', async ({
  souk,
  account,
  client,
}) => {
  const { database, clock } = souk;
  const settings = { ...WITHOUT_LIMITS, capMonth: 100 };
  const { key, id } = await addKey(database, account.accountId, {
    settings,
    createdBy: null,
    now: clock.now(),
  });
  const schedule = await createSchedule(souk.clientOf(key), productsHourly([newAsin()]));
  await revokeKeys(database, account.accountId, String(id), clock.now());
  passHour(souk);
  const [run] = await runsMade(souk, client, schedule, 1);
  expect(run).toMatchObject({
    state: 'skipped',
    reason: expect.stringMatching(/^The API key km_.* was revoked/),
  });
  await patchSchedule(client, schedule, { name: 'Adopted' });
  passHour(souk);
  expect((await runsMade(souk, client, schedule, 2))[0]).toMatchObject({ state: BEGUN });
});
