import { afterEach, beforeEach, expect, test } from 'vitest';
import { pauseAfter, requestedReport, wantedWeeks } from '../../../src/brand-analytics/fetch-week.ts';
import { loadedWeeks } from '../../../src/brand-analytics/weeks.ts';
import { type Database, openDatabase } from '../../../src/platform/db/pool.ts';
import { HOUR_MS } from '../../../src/platform/durations.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { openReportFetches } from '../../../workers/background/report-fetches.ts';
import { TestClock } from '../../support/clock.ts';
import { createTestDatabase } from '../../support/database.ts';
import { openReportServer, type ReportServer, SECRETS } from '../../support/report-server.ts';
import { csvReport, jsonReport, load, REPORTS, ranked, reportEntry } from '../../support/reports.ts';
import { advanceUntil } from '../../support/time.ts';

/** Sunday evening; the weeks before are those to 2026-03-07, 02-28, 02-21, 02-14. */
const SUNDAY = Date.parse('2026-03-08T18:00:00Z');
const NEWEST = '2026-03-07';

let created: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let server: ReportServer;
let clock: TestClock;
let logLines: string[];
let opened: { close(): Promise<void> }[];

beforeEach(async () => {
  created = await createTestDatabase();
  database = openDatabase(created.url, createLogger('silent'));
  server = await openReportServer();
  clock = new TestClock(SUNDAY);
  logLines = [];
  opened = [];
});
afterEach(async () => {
  for (const one of opened) await one.close();
  await server.close();
  await database.end();
  await created.drop();
});

async function start(processes = 1): Promise<void> {
  const log = createLogger('info', { write: (line) => void logLines.push(line) });
  const settings = { credentials: server.credentials, sites: ['us'] } as const;
  const deps = {
    databaseUrl: created.url,
    providers: { products: 'products', trends: 'trends', reports: REPORTS },
    clock,
    log,
  };
  for (let i = 0; i < processes; i += 1) opened.push(await openReportFetches(settings, deps));
}

/** The older weeks are loaded. */
async function loadOlder(): Promise<void> {
  for (const { week } of wantedWeeks(['us'], SUNDAY).slice(1))
    await load(database, 'us', csvReport(week, ranked('one', 'two')));
}

const report = (week: string) =>
  Buffer.from(
    jsonReport(week, [reportEntry('one', 1, 1, { departmentName: 'Amazon.com' })], 'ATVPDKIKX0DER'),
  );
const said = (message: string) => logLines.filter((line) => line.includes(`"${message}"`)).length;
const FETCHED = 'fetched a weekly report';
const NOT_FETCHED = 'a weekly report was not fetched';

test('fetches a week from Sunday evening on, newest week first', () => {
  expect(wantedWeeks(['us', 'de'], SUNDAY).slice(0, 3)).toEqual([
    { site: 'us', week: NEWEST },
    { site: 'de', week: NEWEST },
    { site: 'us', week: '2026-02-28' },
  ]);
  expect(wantedWeeks(['us'], SUNDAY)).toHaveLength(4);
  expect(wantedWeeks(['us'], SUNDAY - 1)[0]?.week).toBe('2026-02-28');
});

test('retries after one, two and four hours, at last once a day', () => {
  expect([1, 2, 3, 5, 6, 20].map((attempts) => pauseAfter(attempts) / HOUR_MS)).toEqual([
    1, 2, 4, 16, 24, 24,
  ]);
});

test('fetches missing weeks in only one of several processes', async () => {
  const weeks = wantedWeeks(['us'], SUNDAY).map(({ week }) => week);
  await load(database, 'us', csvReport(weeks[1] ?? '', ranked('one')));
  for (const week of weeks.filter((_, i) => i !== 1))
    server.reports.push({ statuses: ['IN_PROGRESS', 'DONE'], document: report(week) });
  await start(3);
  await advanceUntil(clock, () => said(FETCHED) === 3, 5_000);
  expect((await loadedWeeks(database, REPORTS, 'us')).map(({ week }) => week)).toEqual(weeks);
  expect(server.orders).toHaveLength(3);
  // A loaded week is not requested again.
  const looks = server.calls.length;
  clock.advance(6 * HOUR_MS);
  expect(server.calls).toHaveLength(looks);
});

test('retries a week that is not ready with growing delays', async () => {
  await loadOlder();
  const notReady = () =>
    server.reports.push({ statuses: ['FATAL'], document: Buffer.from('{"errorDetails":"Not ready."}') });
  notReady();
  await start();
  await advanceUntil(clock, () => said(NOT_FETCHED) === 1, 0);
  expect(logLines.join()).toContain('"reason":"Not ready."');
  notReady();
  await advanceUntil(clock, () => said(NOT_FETCHED) === 2, 60_000);
  expect(clock.now() - SUNDAY).toBeGreaterThanOrEqual(HOUR_MS);
  const secondAt = clock.now();
  server.reports.push({ statuses: ['DONE'], document: report(NEWEST) });
  await advanceUntil(clock, () => said(FETCHED) === 1, 60_000);
  expect(clock.now() - secondAt).toBeGreaterThanOrEqual(2 * HOUR_MS - 120_000);
  expect((await loadedWeeks(database, REPORTS, 'us'))[0]?.week).toBe(NEWEST);
});

test('logs a report that cannot be loaded, imports the others and retries', async () => {
  await loadOlder();
  server.reports.push({ statuses: ['DONE'], document: report('2026-01-03') });
  await start();
  await advanceUntil(clock, () => said(NOT_FETCHED) === 1, 0);
  expect(logLines.join()).toContain('The report is for the week that ends on 2026-01-03, not on 2026-03-07.');
  server.reports.push({ statuses: ['DONE'], document: report(NEWEST) });
  await advanceUntil(clock, () => said(FETCHED) === 1, 60_000);
});

test('continues with the report request of a process that ended', async () => {
  await loadOlder();
  server.reports.push({ statuses: ['IN_PROGRESS', 'IN_PROGRESS', 'DONE'], document: report(NEWEST) });
  await start();
  await expect.poll(() => server.count(/GET .*reports\/R1/)).toBe(1);
  await opened.pop()?.close();
  expect(await requestedReport(database, 'us', NEWEST)).toBe('R1');
  await start();
  await advanceUntil(clock, () => said(FETCHED) === 1, 5_000);
  expect(server.orders).toHaveLength(1);
  for (const secret of Object.values(SECRETS)) expect(logLines.join()).not.toContain(secret);
});
