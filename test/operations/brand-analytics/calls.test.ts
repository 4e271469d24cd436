import { describe, expect } from 'vitest';
import type { Client } from '../../support/client.ts';
import { csvReport, load, type TestTerm } from '../../support/reports.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const WEEK = '2026-04-11';
const BEFORE = '2026-04-04';
const TERMS = 500;

const product = (asin: string, click = '20', conversion = '10'): [string, string, string, string] => [
  asin,
  `Title of ${asin}`,
  click,
  conversion,
];

/** Every seventh term is about lamps, every eleventh by Lumio, and three share a rank. */
const terms: TestTerm[] = Array.from({ length: TERMS }, (_, i) => ({
  term: `${i % 7 === 0 ? 'desk lamps' : 'garden hose'} ${i}`,
  rank: i + 1 >= 100 && i + 1 <= 102 ? 100 : i + 1,
  brands: [i % 11 === 0 ? 'Lumio' : 'Acme'],
  categories: [i % 7 === 0 ? 'Office Products' : 'Garden'],
  products: [
    product(`B0FIRST${String(i % 20).padStart(3, '0')}`, String(i % 100), ''),
    product('B0SECOND00'),
  ],
}));

test.beforeAll(async ({ souk }) => {
  await load(
    souk.database,
    'us',
    csvReport(
      BEFORE,
      [...terms].slice(10).map((term, i) => ({ ...term, rank: i + 1 })),
    ),
  );
  await load(souk.database, 'us', csvReport(WEEK, terms));
  await load(
    souk.database,
    'jp',
    csvReport(WEEK, [
      { term: '猫砂 大容量', rank: 1, products: [product('B0SECOND00')] },
      { term: '犬ベッド', rank: 2 },
      { term: '猫', rank: 3 },
    ]),
  );
});

const get = async (client: Client, path: string) => {
  const { status, json } = await client.get(`/api/aba/${path}`);
  expect(json).toMatchObject({ code: '0000' });
  expect(status).toBe(200);
  return json.data;
};
const keywords = (rows: { keyword: string }[]) => rows.map(({ keyword }) => keyword);

test('countries are free and list all nine sites with their weeks', async ({ client }) => {
  const { json, headers } = await client.get('/api/aba/countries');
  expect(headers['x-units-consumed']).toBe('0');
  expect(json.data.countries).toHaveLength(9);
  expect(json.data.countries[0]).toEqual({
    country: 'us',
    latest_report_date: WEEK,
    available_dates: [WEEK, BEFORE],
    tld: 'com',
  });
  expect(json.data.countries[1]).toMatchObject({
    country: 'uk',
    latest_report_date: null,
    available_dates: [],
  });
});

test('report-dates lists the imported weeks, newest first', async ({ client }) => {
  expect(await get(client, 'report-dates?country=US')).toMatchObject({
    country: 'us',
    dates: [WEEK, BEFORE],
  });
  expect(await get(client, 'report-dates?country=mx')).toMatchObject({ dates: [] });
});

test.for([
  '',
  '&keyword=lamp',
  '&brand=lumio',
  '&category=GARDEN&clickSumMin=40',
  '&fluctuationType=falling',
])('pages by afterRank%s return every row of the week once', async (filter, { client }) => {
  const whole: { rank: number; wordId: number }[] = [];
  let afterRank = 0;
  while (afterRank !== null) {
    const page = await get(client, `rank?country=us&limit=33&afterRank=${afterRank}${filter}`);
    expect(page.count).toBe(page.rows.length);
    whole.push(...page.rows);
    afterRank = page.nextAfterRank;
  }
  const { rows } = await get(client, `rank?country=us&limit=1000&offset=0${filter}`);
  expect(whole).toEqual(rows);
  expect(new Set(whole.map(({ wordId }) => wordId)).size).toBe(whole.length);
  expect(whole.length).toBeGreaterThan(20);
});

test.for([99, 100, 101, 102])(
  'a page by offset that ends after %i rows is followed by all other rows by afterRank',
  async (limit, { client }) => {
    const page = await get(client, `rank?country=us&offset=0&limit=${limit}`);
    expect(page.count).toBe(limit);
    const rest = await get(client, `rank?country=us&limit=1000&afterRank=${page.nextAfterRank}`);
    expect(new Set(keywords([...page.rows, ...rest.rows])).size).toBe(TERMS);
  },
);

describe('filters', () => {
  const has: Record<string, (term: TestTerm, i: number) => boolean> = {
    'keyword=desk%20lamp': (_, i) => i % 7 === 0,
    'keyword=amp%20esk&brand=LUMIO': (_, i) => i % 77 === 0,
    'keyword=lamps&brand=LUMIO': (_, i) => i % 77 === 0,
    'category=office%20products&brand=acme': (_, i) => i % 7 === 0 && i % 11 !== 0,
    'clickSumMin=77': (_, i) => (i % 100) + 20 >= 77,
    'clickSumMin=100&rankMax=300': (term, i) => (i % 100) + 20 >= 100 && term.rank <= 300,
    'rankMin=99&rankMax=101': (term) => term.rank >= 99 && term.rank <= 101,
    'convSumMin=10': () => true,
    'convSumMin=11': () => false,
    'fluctuationType=new': (_, i) => i < 10,
    'brand=unknown': () => false,
    'keyword=%3F%3F': () => false,
  };
  test.for(Object.entries(has))('%s', async ([filter, fits], { client }) => {
    const { rows } = await get(client, `rank?country=us&limit=1000&${filter}`);
    // Three terms share a rank, in any order.
    const wanted = terms.filter(fits).map(({ term, rank }) => ({ keyword: term, rank }));
    expect(rows.map(({ rank }: TestTerm) => rank)).toEqual(wanted.map(({ rank }) => rank));
    expect(keywords(rows).sort()).toEqual(keywords(wanted).sort());
  });
});

test('total is present only for an unfiltered week by offset', async ({ client }) => {
  expect(await get(client, 'rank?country=us&offset=498')).toMatchObject({
    total: TERMS,
    offset: 498,
    count: 2,
    nextAfterRank: null,
  });
  expect(await get(client, 'rank?country=us&offset=0&rankMin=2')).toMatchObject({ total: null });
  expect(await get(client, 'rank?country=us&limit=5')).toMatchObject({
    total: null,
    afterRank: 0,
    nextAfterRank: 5,
    previousReportDate: BEFORE,
  });
});

test('search finds English terms by words and Japanese terms by any part, best rank first', async ({
  client,
}) => {
  const found = async (country: string, keyword: string) =>
    keywords(
      (await get(client, `search?country=${country}&keyword=${encodeURIComponent(keyword)}&limit=3`)).items,
    );
  expect(await found('us', 'lamp')).toEqual(['desk lamps 0', 'desk lamps 7', 'desk lamps 14']);
  expect(await found('us', 'desk lamps 14')).toEqual(['desk lamps 14', 'desk lamps 140', 'desk lamps 147']);
  expect(await found('jp', '猫')).toEqual(['猫', '猫砂 大容量']);
  expect(await found('jp', '大容')).toEqual(['猫砂 大容量']);
  expect(await found('jp', 'ベッド')).toEqual(['犬ベッド']);
  expect(await found('uk', 'lamp')).toEqual([]);
});

test('a keyword has its history, its products and the weeks without it', async ({ client }) => {
  const { items } = await get(client, 'search?country=us&keyword=desk%20lamps%207');
  const { wordId } = items[0];
  const detail = await get(client, `word/${wordId}`);
  expect(detail.word).toEqual({
    wordId,
    keyword: 'desk lamps 7',
    country: 'us',
    firstSeen: WEEK,
    lastSeen: WEEK,
    weeksSeen: 1,
    bestRank: 8,
    bestRankDate: WEEK,
  });
  expect(detail.history).toEqual([
    { reportDate: BEFORE, rank: null, rankChange: null, clickShareSum: null, convShareSum: null },
    { reportDate: WEEK, rank: 8, rankChange: null, clickShareSum: 27, convShareSum: 10 },
  ]);
  expect(detail.current).toMatchObject({ rank: 8, fluctuationType: 'new' });
  expect(detail.goods[0]).toMatchObject({
    position: 1,
    asin: 'B0FIRST007',
    title: 'Title of B0FIRST007',
    conversionShare: null,
  });
  const { history, titles } = await get(client, `word/${wordId}/history?limit=2`);
  expect(titles).toMatchObject({ B0FIRST007: 'Title of B0FIRST007' });
  expect(history).toMatchObject(detail.history);
  const { position, asin, clickShare, conversionShare } = detail.goods[0];
  expect(history[0].goods).toEqual([]);
  expect(history[1].goods[0]).toEqual({ position, asin, clickShare, conversionShare });
  expect(history[1].goods).toHaveLength(detail.goods.length);
  expect((await get(client, `word/${wordId}/history?limit=1`)).history).toHaveLength(1);
  expect(await get(client, `word/${wordId}/goods?country=us&reportDate=${WEEK}`)).toMatchObject({
    rank: 8,
    goods: detail.goods,
  });
  expect(await get(client, `word/${wordId}/goods?country=us&reportDate=${BEFORE}`)).toMatchObject({
    rank: null,
    goods: [],
  });
});

test('a reverse look-up has a limit for each ASIN, and covers all sites and the requested dates', async ({
  client,
}) => {
  const reverse = async (body: object) => (await client.post('/api/aba/asin-reverse', body)).json.data.items;
  const asins = ['b0second00', 'B0NOBODY00', 'B0FIRST007'];
  const items = await reverse({ asins, limit: 3 });
  expect(
    items.map(({ asin, count, truncated }: Record<string, unknown>) => [asin, count, truncated]),
  ).toEqual([
    ['B0SECOND00', 3, true],
    ['B0NOBODY00', 0, false],
    ['B0FIRST007', 3, true],
  ]);
  expect(
    items[0].keywords.map(({ country, rank }: Record<string, unknown>) => [country, rank]),
  ).toContainEqual(['jp', 1]);
  expect(items[2].keywords[0]).toMatchObject({
    rank: 8,
    position: 1,
    clickShare: 7,
    conversionShare: null,
    reportDate: WEEK,
  });
  const [ranged] = await reverse({
    asins: ['B0FIRST007'],
    country: 'us',
    startDate: '2026-04-01',
    limit: 1000,
  });
  const dates: string[] = ranged.keywords.map(({ reportDate }: { reportDate: string }) => reportDate);
  expect(dates.filter((date) => date === WEEK)).toHaveLength(25);
  expect(dates).toEqual([...dates].sort((a, b) => b.localeCompare(a)));
  const [early] = await reverse({ asins: ['B0FIRST007'], country: 'us', endDate: '2026-04-05' });
  expect(new Set(early.keywords.map(({ reportDate }: { reportDate: string }) => reportDate))).toEqual(
    new Set([BEFORE]),
  );
});

test.for([
  [
    'rank?country=us&reportDate=2026-04-05',
    'reportDate: must be a loaded week, got 2026-04-05; nearest: 2026-04-04, 2026-04-11',
  ],
  ['rank?country=de', 'country: no report is loaded for de yet'],
  ['rank?country=in', 'country: must be one of us, uk, de, fr, it, jp, ca, es, mx, got "in"'],
  ['rank?country=us&offset=0&afterRank=0', 'afterRank: cannot be used together with offset'],
  ['rank?country=us&rankMin=5&rankMax=4', 'rankMax: must not be below rankMin (5), got 4'],
  ['rank?country=us&limit=1001', 'limit: must be an integer from 1 to 1000, got 1001'],
  ['rank?country=us&offset=10001', 'offset: must be an integer from 0 to 10000, got 10001'],
  ['search?country=us', 'keyword: is required: it must be a text of 1 to 200 characters'],
  ['word/33/goods?country=jp&reportDate=2026-04-11', 'country: must be us, the site of the wordId, got jp'],
  [
    'word/33/goods?country=us&reportDate=2026-02-30',
    'reportDate: must be a date such as 2026-01-31, got "2026-02-30"',
  ],
  ['word/none', 'wordId: must be an integer from 1 to 2147483647, got "none"'],
] as const)('refuses %s at no charge', async ([path, message], { souk }) => {
  const caller = await souk.client();
  const { status, json } = await caller.get(`/api/aba/${path}`);
  expect([status, json.msg]).toEqual([400, message]);
  expect(await unitsUsed(caller)).toBe(0);
});

test.for([
  [{ startDate: 'x' }, ['startDate']],
  [{ endDate: '2026-02-30', startDate: '2026-05-01' }, ['endDate']],
  [{ startDate: '2026-05-01', endDate: '2026-04-01' }, ['endDate']],
] as const)(
  'a reverse look-up refuses the period %j by the names of its wrong dates',
  async ([period, names], { souk }) => {
    const caller = await souk.client();
    const { json } = await caller.post('/api/aba/asin-reverse', { asins: ['B0FIRST007'], ...period });
    expect(json.metadata?.errors).toEqual(names.map((parameter) => expect.objectContaining({ parameter })));
  },
);

test('reports an unknown key before any other error', async ({ souk }) => {
  const stranger = souk.clientOf(`km_${'x'.repeat(32)}`);
  expect((await stranger.get('/api/aba/rank?country=us&reportDate=2026-04-05')).status).toBe(401);
});

test.for([39, 2_147_483_633])(
  'returns 404 and releases the units for the unknown keyword id %i',
  async (wordId, { souk }) => {
    const caller = await souk.client();
    const { status, json } = await caller.get(`/api/aba/word/${wordId}`);
    expect([status, json.code]).toEqual([404, 'WORD_NOT_FOUND']);
    expect(await unitsUsed(caller)).toBe(0);
  },
);

test('does not use the cache for a week that was imported again', async ({ souk }) => {
  const path = '/api/aba/rank?country=ca&limit=10';
  await load(souk.database, 'ca', csvReport(WEEK, [{ term: 'old', rank: 1 }]));
  const ask = async () => (await (await souk.client()).get(path)).json.data;
  expect(await ask()).toMatchObject({ fromCache: false, rows: [{ keyword: 'old' }] });
  expect(await ask()).toMatchObject({ fromCache: true, rows: [{ keyword: 'old' }] });
  await load(souk.database, 'ca', csvReport(WEEK, [{ term: 'new', rank: 1 }]));
  expect(await ask()).toMatchObject({ fromCache: false, rows: [{ keyword: 'new' }] });
});
