import { expect } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { databaseClock, isClockRight, openDatabase, readTime } from '../../../src/platform/db/pool.ts';
import { HOUR_MS } from '../../../src/platform/durations.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { test } from '../../support/souk-test.ts';

const log = createLogger('silent');

/** A machine whose clock a test sets. */
function machine(aheadMs: number) {
  const state = { aheadMs };
  return { state, clock: { ...systemClock, now: () => Date.now() + state.aheadMs } };
}

test.for([
  ['agrees', 0, true],
  ['is 4 s ahead', 4_000, true],
  ['is 6 s ahead', 6_000, false],
  ['is an hour ahead', HOUR_MS, false],
  ['is a day behind', -24 * HOUR_MS, false],
] as const)(
  "shows PostgreSQL's time on a machine whose clock %s",
  async ([_, aheadMs, isRight], { database }) => {
    const clock = databaseClock(machine(aheadMs).clock);
    const stop = await clock.follow(database, log);
    const before = await readTime(database);
    const shown = clock.now();
    const after = await readTime(database);
    await stop();
    expect(shown).toBeGreaterThanOrEqual(before - 500);
    expect(shown).toBeLessThanOrEqual(after + 500);
    expect(Math.abs((clock.machineAheadMs() ?? Number.NaN) - aheadMs)).toBeLessThan(500);
    expect(isClockRight(clock)).toBe(isRight);
  },
);

test('a changed clock of the machine does not change the time, and counts as wrong immediately', async ({
  database,
}) => {
  const { state, clock: own } = machine(0);
  const clock = databaseClock(own);
  const stop = await clock.follow(database, log);
  await stop();
  const before = clock.now();
  state.aheadMs = HOUR_MS;
  expect(clock.now() - before).toBeLessThan(1_000);
  expect(isClockRight(clock)).toBe(false);
  state.aheadMs = 0;
  expect(isClockRight(clock)).toBe(true);
});

test('reads the time again each second, to follow PostgreSQL to another server', async ({ database }) => {
  // A session whose search path has this function first gets another time.
  await database.query(`create schema other_server; create function other_server.clock_timestamp() returns timestamptz
    language sql as $$ select pg_catalog.clock_timestamp() - interval '1 hour' $$`);
  const url = new URL(database.options.connectionString ?? '');
  url.searchParams.set('options', '-c search_path=other_server,pg_catalog');
  const other = openDatabase(url.href, log);
  let seconds: (() => void)[] = [];
  const own = {
    now: Date.now,
    after: (_ms: number, callback: () => void) => {
      seconds.push(callback);
      return () => {};
    },
  };
  const clock = databaseClock(own);
  let server = database;
  const cluster = { query: (text: string) => server.query(text) } as typeof database;
  const stop = await clock.follow(cluster, log);
  expect(isClockRight(clock)).toBe(true);
  server = other;
  for (const second of seconds.splice(0)) second();
  await expect.poll(() => isClockRight(clock)).toBe(false);
  expect(Math.abs(clock.now() - (Date.now() - HOUR_MS))).toBeLessThan(1_000);
  seconds = [];
  await stop();
  await other.end();
});

test('the database clock is unknown until PostgreSQL has answered', async () => {
  const away = openDatabase('postgresql://127.0.0.1:9/none', log, { connectMs: 100 });
  const clock = databaseClock();
  const stop = await clock.follow(away, log);
  expect(clock.machineAheadMs()).toBeNull();
  expect(isClockRight(clock)).toBe(false);
  await stop();
  await away.end();
});
