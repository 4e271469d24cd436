import { expect } from 'vitest';
import { createTestKey } from '../../src/billing/test-wallet.ts';
import { lastEndedWeek } from '../../src/operations/brand-analytics/keywords.ts';
import { WEEK_MS } from '../../src/platform/durations.ts';
import { batchOnce, isFinished, linesOf, startBatch } from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import { csvReport, load, ranked, testReportsLoaded } from '../support/reports.ts';
import { comesAbout } from '../support/schedules.ts';
import { test as base } from '../support/souk-test.ts';
import { createTracker, trackerNow } from '../support/trackers.ts';

const LIVE_WEEK = '2026-01-31';
const LIVE_TERM = 'a term of a real report';

const test = base
  .override('soukOptions', ({ demo }) => ({
    testUrl: demo.url,
    testReports: { weeks: { first: 2, others: 0 }, terms: 300 },
  }))
  .extend('reports', { scope: 'file' }, async ({ souk }) => {
    await load(souk.database, 'us', csvReport(LIVE_WEEK, ranked(LIVE_TERM)));
    await testReportsLoaded(souk, 2);
    return { newest: lastEndedWeek(souk.clock.now()) };
  })
  /** A client with a test key of `account`. */
  .extend('tester', async ({ souk, account, reports: _ }) =>
    souk.clientOf(await createTestKey(souk.database, account.accountId, souk.clock.now())),
  );

const topTerm = async (client: Client) => {
  const { json } = await client.get('/api/aba/rank?country=us&limit=1');
  return json.data.rows[0] as { wordId: number; keyword: string; goods: { asin: string; title: string }[] };
};

test('a test key gets generated reports from every operation, and each answer is marked', async ({
  tester,
  reports: { newest },
}) => {
  const { wordId, keyword, goods } = await topTerm(tester);
  const asin = goods[0]?.asin ?? '';
  const answers = await Promise.all([
    tester.get('/api/aba/countries'),
    tester.get('/api/aba/report-dates?country=us'),
    tester.get('/api/aba/rank?country=us&limit=5'),
    tester.get(`/api/aba/search?country=us&keyword=${encodeURIComponent(keyword)}`),
    tester.get(`/api/aba/word/${wordId}`),
    tester.get(`/api/aba/word/${wordId}/history`),
    tester.get(`/api/aba/word/${wordId}/goods?country=us&reportDate=${newest}`),
    tester.post('/api/aba/asin-reverse', { asins: [asin] }),
  ]);
  for (const { status, json } of answers) {
    expect(json).toMatchObject({ livemode: false, code: '0000' });
    expect(status).toBe(200);
  }
  const [countries, dates, rank, search, word, history, ofWord, reverse] = answers.map(
    ({ json }) => json.data,
  );
  expect(countries.countries[0]).toMatchObject({ country: 'us', latest_report_date: newest });
  expect(dates.dates).toHaveLength(2);
  expect(rank.rows).toHaveLength(5);
  expect(search.items[0]).toMatchObject({ wordId, keyword });
  expect(word.word).toMatchObject({ wordId, keyword });
  expect(history.history).toHaveLength(2);
  expect(ofWord.goods[0].asin).toBe(asin);
  expect(reverse.items[0].keywords.length).toBeGreaterThan(0);
});

test('the products of generated reports are products of the demo provider', async ({ tester }) => {
  const { goods } = await topTerm(tester);
  const asins = goods.map(({ asin }) => asin);
  const { json } = await tester.get(`/api/market/product?country=us&asins=${asins.join(',')}`);
  const titles = Object.fromEntries(
    json.data.products.map(({ asin, title }: { asin: string; title: string }) => [asin, title]),
  );
  for (const { asin, title } of goods) expect(titles[asin]).toBe(title);
});

test('live and test keys of an account read two sets of reports, with two shared answers', async ({
  client,
  tester,
  reports: { newest },
}) => {
  for (const _ of ['first', 'from the cache']) {
    const live = await client.get('/api/aba/rank?country=us');
    const tested = await tester.get('/api/aba/rank?country=us');
    expect(live.json.data.rows.map(({ keyword }: { keyword: string }) => keyword)).toEqual([LIVE_TERM]);
    expect(live.json).not.toHaveProperty('livemode');
    expect(tested.json.data).toMatchObject({ reportDate: newest });
    expect(tested.text).not.toContain(LIVE_TERM);
  }
  expect((await client.get('/api/aba/countries')).text).not.toContain(newest);
  expect((await tester.get('/api/aba/countries')).text).not.toContain(LIVE_WEEK);
  const { wordId } = await topTerm(tester);
  const found = (await client.get(`/api/aba/word/${wordId}`)).json;
  if (found.code === '0000') expect(found.data.word.keyword).toBe(LIVE_TERM);
  else expect(found.code).toBe('WORD_NOT_FOUND');
});

test('refuses a week that only the other mode has', async ({ client, tester, reports: { newest } }) => {
  const reasonOf = async (one: Client, week: string) =>
    (await one.get(`/api/aba/rank?country=us&reportDate=${week}`)).json;
  expect(await reasonOf(client, newest)).toMatchObject({ code: 'VALIDATION_FAILED' });
  expect(await reasonOf(tester, LIVE_WEEK)).toMatchObject({ code: 'VALIDATION_FAILED', livemode: false });
});

test('a batch and a tracker of a test key read the generated reports', async ({ souk, tester, upstream }) => {
  const { wordId, keyword } = await topTerm(tester);
  const batch = await startBatch(tester, { operation: 'aba.word', items: [{ wordId }] });
  await batchOnce(souk, tester, batch, isFinished);
  const [line] = linesOf(await tester.get(`/api/batches/${batch.batchId}/results`));
  expect(line?.data.word.keyword).toBe(keyword);

  const tracker = {
    name: 'Ranks',
    cron: '0 */2 * * *',
    country: 'us',
    conditions: [{ type: 'keyword_rank_below', value: 9 }],
  };
  const created = await tester.post('/api/trackers', { ...tracker, keywords: [keyword] });
  expect(created.json).toMatchObject({ livemode: false, data: { subject: 'keywords', items: 1 } });
  const refused = await tester.post('/api/trackers', { ...tracker, keywords: [LIVE_TERM] });
  expect(refused.json.code).toBe('VALIDATION_FAILED');
  expect(upstream.calls).toEqual([]);
});

test('a saved screen of a test key reads the generated reports', async ({
  souk,
  tester,
  reports: { newest },
}) => {
  const tracker = await createTracker(tester, { name: 'Top', screen: { country: 'us', limit: 10 } });
  await comesAbout(souk, async () => (await trackerNow(tester, tracker)).lastScreen !== null);
  const { lastScreen } = await trackerNow(tester, tracker);
  expect(lastScreen).toMatchObject({ week: newest, total: 300, terms: 10 });
});

test('a week that ends is loaded, and the oldest one is deleted', async ({ openAnother, demo }) => {
  const souk = await openAnother({
    testUrl: demo.url,
    testReports: { weeks: { first: 1, others: 0 }, terms: 50 },
  });
  await testReportsLoaded(souk, 1);
  souk.clock.advance(WEEK_MS);
  const newest = lastEndedWeek(souk.clock.now());
  const loaded = async () => {
    souk.clock.advance(60_000);
    const { rows } = await souk.database.query('select week::text from test_reports.aba_weeks');
    return rows.map(({ week }) => week as string);
  };
  await expect.poll(loaded, { timeout: 60_000 }).toEqual([newest]);
});
