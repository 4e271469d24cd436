import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type FetchRequest, fetchWeek, requestedReport } from '../../src/brand-analytics/fetch-week.ts';
import { loadedWeeks } from '../../src/brand-analytics/weeks.ts';
import { type Database, openDatabase } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import type { ReportProvider } from '../../src/upstream/selling-partner/report-provider.ts';
import { openSellingPartner } from '../../src/upstream/selling-partner/selling-partner.ts';
import { TestClock } from '../support/clock.ts';
import { createTestDatabase } from '../support/database.ts';
import { openReportServer, type ReportServer, SECRETS } from '../support/report-server.ts';
import { jsonReport, REPORTS, reportEntry } from '../support/reports.ts';
import { advanceUntil } from '../support/time.ts';

let created: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let server: ReportServer;
let provider: ReportProvider;
let clock: TestClock;
beforeAll(async () => {
  created = await createTestDatabase();
  database = openDatabase(created.url, createLogger('silent'));
});
afterAll(async () => {
  await database.end();
  await created.drop();
});
beforeEach(async () => {
  clock = new TestClock(Date.parse('2026-03-09T00:00:00Z'));
  server = await openReportServer();
  provider = openSellingPartner(server.credentials, clock);
});
afterEach(async () => {
  await provider.close();
  await server.close();
  await database.query('delete from aba_fetches');
});

const WEEK = '2026-03-07';

/** A report of 300 terms, in the compressed form in which the document store has it. */
function document(week = WEEK, terms = 300): Buffer {
  const entries = Array.from({ length: terms }, (_, i) =>
    reportEntry(`term ${i} ${Math.sin(i)}`, i + 1, 1, { departmentName: 'Amazon.com' }),
  );
  return gzipSync(jsonReport(week, entries, 'ATVPDKIKX0DER'));
}

/** Fetches a week, and advances the clock until it ends. */
async function fetching(request: Partial<FetchRequest> = {}) {
  const given = { site: 'us', week: WEEK, signal: new AbortController().signal, ...request } as const;
  let isOver = false;
  const outcome = fetchWeek(
    { database, provider, providers: { products: 'products', reports: REPORTS }, clock },
    given,
  ).finally(() => {
    isOver = true;
  });
  outcome.catch(() => {});
  await advanceUntil(clock, () => isOver, 1_000);
  return outcome;
}

/** Returns the loaded weeks of a site. */
async function weeksOf(site: 'us' | 'uk' = 'us') {
  return (await loadedWeeks(database, REPORTS, site)).map(({ week, importId }) => [week, importId]);
}

test('requests a report, waits until it is done, downloads it and imports it', async () => {
  server.reports.push({ statuses: ['IN_QUEUE', 'IN_PROGRESS', 'DONE'], document: document() });
  const seen: string[] = [];
  const outcome = await fetching({ onProgress: ({ stage }) => seen.push(stage) });
  expect(outcome).toMatchObject({ kind: 'loaded', result: { week: WEEK, terms: 300 } });
  expect(server.orders).toEqual([
    {
      reportType: 'GET_BRAND_ANALYTICS_SEARCH_TERMS_REPORT',
      reportOptions: { reportPeriod: 'WEEK' },
      dataStartTime: '2026-03-01',
      dataEndTime: WEEK,
      marketplaceIds: ['ATVPDKIKX0DER'],
    },
  ]);
  expect(new Set(seen)).toEqual(new Set(['waiting', 'reading', 'saving', 'indexing']));
  // One token is used for all calls.
  expect(server.count(/token/)).toBe(1);
  expect(await requestedReport(database, 'us', WEEK)).toBeNull();
});

test.each(['POST .*reports$', 'GET .*reports/R1', 'GET .*documents/'])(
  'repeats a throttled call (%s) after the wait that its rate limit requires',
  async (call) => {
    server.reports.push({ statuses: ['DONE'], document: document() });
    const throttled = { status: 429, headers: { 'x-amzn-RateLimit-Limit': '0.01' } };
    server.faults.push({ call: new RegExp(call), ...throttled });
    const startedAt = clock.now();
    expect(await fetching()).toMatchObject({ kind: 'loaded' });
    expect(clock.now() - startedAt).toBeGreaterThanOrEqual(100_000);
    expect(server.count(new RegExp(call))).toBe(2);
  },
);

test('fails with an explanation if every attempt of a call is throttled', async () => {
  server.faults.push(...Array.from({ length: 20 }, () => ({ call: /POST .*reports$/, status: 429 })));
  await expect(fetching()).rejects.toThrow(
    'The Selling Partner API answered createReport with 429: Fault, As scripted.',
  );
  expect(server.count(/POST .*reports$/)).toBe(6);
});

test.each([
  ['plain', (text: string) => Buffer.from(text)],
  ['gzip', (text: string) => gzipSync(text)],
])('returns the reason of a FATAL report from its document, %s', async (_, pack) => {
  server.reports.push({ statuses: ['FATAL'], document: pack('{"errorDetails":"The week is not ready."}') });
  expect(await fetching()).toEqual({ kind: 'failed', reason: 'The week is not ready.' });
});

test.each([
  ['that contains no reason', Buffer.from('<html>'), 'its document gives no reason that can be read'],
  ['that is missing', undefined, 'the provider gave no reason'],
])('returns the failure of a FATAL report with a document %s', async (_, content, reason) => {
  server.reports.push({ statuses: ['FATAL'], ...(content ? { document: content } : {}) });
  expect(await fetching()).toEqual({ kind: 'failed', reason });
});

test('returns no data for a CANCELLED report', async () => {
  server.reports.push({ statuses: ['IN_QUEUE', 'CANCELLED'] });
  expect(await fetching()).toEqual({ kind: 'empty' });
});

test('requests a new download address when the first one has expired', async () => {
  server.reports.push({ statuses: ['DONE'], document: document('2026-02-28'), expired: 2 });
  expect(await fetching({ week: '2026-02-28' })).toMatchObject({ kind: 'loaded' });
  expect(server.count(/documents/)).toBe(3);
});

test.each([
  ['at the same byte', true],
  ['from the beginning if the store does not support ranges', false],
])('continues an interrupted download %s', async (_, knowsRanges) => {
  const content = document('2026-02-28');
  server.reports.push({ statuses: ['DONE'], document: content, breaks: [1000, 500], knowsRanges });
  expect(await fetching({ week: '2026-02-28' })).toMatchObject({ result: { terms: 300 } });
  // The client may have received less than the server has sent.
  expect(server.ranges).toHaveLength(3);
  expect(server.ranges[0]).toBe('');
  expect(server.ranges[2]).toMatch(/^bytes=[1-9]\d*-$/);
});

test('a download that is interrupted every time changes no data, and keeps its report request for the next attempt', async () => {
  server.reports.push({ statuses: ['DONE'], document: document(), breaks: Array(20).fill(0) });
  const before = await weeksOf();
  await expect(fetching()).rejects.toThrow('The download of the report broke off after 0 bytes');
  expect(await weeksOf()).toEqual(before);
  expect(await requestedReport(database, 'us', WEEK)).toBe('R1');
});

test('an incomplete document changes no data, and discards its report request', async () => {
  server.reports.push({ statuses: ['DONE'], document: document().subarray(0, 2000) });
  const before = await weeksOf();
  await expect(fetching()).rejects.toThrow('The file is incomplete');
  expect(await weeksOf()).toEqual(before);
  expect(await requestedReport(database, 'us', WEEK)).toBeNull();
});

test('continues an aborted attempt with the same report request', async () => {
  server.reports.push({ statuses: ['IN_PROGRESS', 'DONE'], document: document() });
  const controller = new AbortController();
  const end = () => controller.abort(new Error('ended'));
  await expect(fetching({ signal: controller.signal, onProgress: end })).rejects.toThrow('ended');
  expect(await fetching()).toMatchObject({ kind: 'loaded' });
  expect(server.orders).toHaveLength(1);
});

test('fails if a report is not done after three hours', async () => {
  server.reports.push({ statuses: ['IN_PROGRESS'] });
  let isOver = false;
  const signal = new AbortController().signal;
  const outcome = fetchWeek(
    { database, provider, providers: { products: 'products', reports: REPORTS }, clock },
    { site: 'us', week: WEEK, signal },
  );
  outcome.catch(() => {}).finally(() => (isOver = true));
  await advanceUntil(clock, () => isOver, 120_000);
  await expect(outcome).rejects.toThrow('still IN_PROGRESS after 3 hours');
});

test('the error of a refusal names the service and the call, and no secret', async () => {
  const call = /POST .*reports$/;
  const body = { errors: [{ code: 'Unauthorized', message: 'Access to requested resource is denied.' }] };
  server.faults.push({ call, status: 403, body });
  const refused = await fetching().catch((error: Error) => error);
  expect(refused).toMatchObject({
    message:
      'The Selling Partner API answered createReport with 403: Unauthorized, Access to requested resource is denied.',
  });
  // A refusal is not retried.
  expect(server.count(call)).toBe(1);

  const { clientSecret } = server.credentials;
  provider = openSellingPartner({ ...server.credentials, clientSecret: 'Atza|another' }, clock);
  const exchanged = await fetching().catch((error: Error) => error);
  expect(exchanged).toMatchObject({
    message: 'The refresh token of region na was not exchanged for an access token: 400, invalid_grant.',
  });
  // The errors of the client contain the whole request, which must not be passed on.
  const shown = inspect([refused, exchanged], { depth: 12 });
  for (const secret of [clientSecret, SECRETS.refreshToken, 'Atza|']) expect(shown).not.toContain(secret);
});

const FIXTURES = resolve('../shared/fixtures/brand-analytics');

describe.skipIf(!existsSync(FIXTURES))('recorded (where ../shared/fixtures/brand-analytics exists)', () => {
  const read = (name: string) => readFileSync(join(FIXTURES, name));
  const sandbox = () =>
    JSON.parse(read('reports-api-sandbox.json').toString()) as {
      operationId: string;
      status: number;
      response: Record<string, unknown>;
    }[];

  test('imports a real week, and sends a request of the recorded form', async () => {
    const [answer] = sandbox().filter(
      ({ operationId, status }) => operationId === 'getReport' && status === 200,
    );
    server.reports.push({
      statuses: ['IN_PROGRESS', 'DONE'],
      more: answer?.response ?? {},
      document: read('search-terms-report-us-week-2026-04-11.derived.json.gz'),
    });
    expect(await fetching({ week: '2026-04-11' })).toMatchObject({ result: { terms: 67 } });
    const real = JSON.parse(read('create-report-request-week.json').toString()) as Record<string, unknown>;
    const [order] = server.orders as [Record<string, unknown>];
    expect(Object.keys(order).sort()).toEqual(Object.keys(real).sort());
    expect(order.reportOptions).toEqual(real.reportOptions);
    expect(order.reportType).toBe(real.reportType);
  });

  test('returns the failure of a recorded FATAL report', async () => {
    const more = JSON.parse(read('get-report-fatal.json').toString()) as object;
    server.reports.push({ statuses: ['FATAL'], more, document: Buffer.from('{"errorDetails":"Not yet."}') });
    expect(await fetching()).toEqual({ kind: 'failed', reason: 'Not yet.' });
  });

  test.each([
    ['createReport', /POST .*reports$/],
    ['getReport', /GET .*reports\/R1/],
    ['getReportDocument', /GET .*documents\//],
  ])('the recorded 400 of %s becomes a readable error', async (name, call) => {
    const found = sandbox().find(({ operationId, status }) => operationId === name && status === 400);
    server.reports.push({ statuses: ['DONE'], document: document() });
    server.faults.push({ call, status: 400, body: found?.response });
    await expect(fetching()).rejects.toThrow(`answered ${name} with 400: 400, Invalid input.`);
  });
});
