import { expect } from 'vitest';
import { cursorOf, SCREEN_SORTS } from '../../../src/operations/research/screen-cursor.ts';
import type { Client } from '../../support/client.ts';
import { csvReport, load, type TestTerm } from '../../support/reports.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const WEEK = '2026-04-11';
const FOUR_BEFORE = '2026-03-14';
const TERMS = 250;

const terms: TestTerm[] = Array.from({ length: TERMS }, (_, i) => ({
  term: `${i % 5 === 0 ? 'desk lamp' : 'garden hose'} ${i}`,
  rank: i + 1,
  brands: [i % 10 === 0 ? 'Lumio' : 'Acme'],
  products: [
    [`B0SCREEN${String(i % 50).padStart(2, '0')}`, `Title ${i % 50}`, String(i % 90), ''],
    ['B0SECOND00', '', '1.5', '0.25'],
  ],
}));

test.beforeAll(async ({ souk }) => {
  await load(
    souk.database,
    'us',
    csvReport(
      FOUR_BEFORE,
      terms.slice(100).map((term, i) => ({ ...term, rank: i + 1 })),
    ),
  );
  await load(souk.database, 'us', csvReport(WEEK, terms));
  await souk.database.query(
    `insert into product_labels (site, asin, provider, brand, learned_at)
      select distinct 1, asin2, $1, 'Second Brand', '2026-04-02T10:00:00Z'::timestamptz from aba_ranks where asin2 > 0`,
    [souk.providers.products],
  );
});

const SCREEN = '/api/research/screen';
const get = (client: Client, query: string) => client.get(`${SCREEN}?country=us${query && `&${query}`}`);

test('returns the same for a query as for a body, with changes, sums, products and their sources', async ({
  client,
}) => {
  const query = await get(
    client,
    'rankMin=101&rankMax=110&words=lam&clickShareMin=11.5&sort=-clickShare&limit=1',
  );
  expect(query.status).toBe(200);
  expect(query.json.data).toMatchObject({
    country: 'us',
    week: WEEK,
    rows: [
      {
        keyword: 'desk lamp 105',
        rank: 106,
        change4: -100,
        change12: null,
        clickShare: 16.5,
        conversionShare: 0.25,
        top: [
          { asin: 'B0SCREEN05', brand: null, title: 'Title 5' },
          { asin: 'B0SECOND00', title: null },
        ],
        firstSeen: FOUR_BEFORE,
      },
    ],
    total: 2,
    figures: {
      change4: { source: 'reports', date: WEEK, formula: expect.stringContaining(FOUR_BEFORE) },
      change12: {
        source: 'reports',
        date: WEEK,
        formula: 'null, because the week of 2026-01-17 is not loaded',
      },
      'top.brand': { source: 'products' },
    },
  });
  const body = {
    country: 'us',
    rank: { min: 101, max: 110 },
    words: ['lam'],
    clickShare: { min: 11.5 },
    sort: '-clickShare',
    limit: 1,
  };
  const posted = await client.post(SCREEN, body);
  expect(posted.headers['x-deduplicated']).toBe('true');
  expect(posted.json.data.rows).toEqual(query.json.data.rows);
});

test('charges one unit for each hundred rows that it returns, and reserves those of limit', async ({
  client,
}) => {
  const quote = await client.get(`${SCREEN}?country=us&limit=1000&dryRun=1`);
  expect(quote.json.data).toMatchObject({ units: 10 });
  expect(await unitsUsed(client)).toBe(0);
  const screen = async (query: string) => {
    const before = await unitsUsed(client);
    const { headers, json } = await get(client, query);
    const charged = (await unitsUsed(client)) - before;
    expect(headers['x-units-consumed']).toBe(String(charged));
    return [json.data.rows.length, charged];
  };
  expect(await screen('limit=1000')).toEqual([250, 3]);
  expect(await screen('limit=1000&words=lamp')).toEqual([50, 1]);
  expect(await screen('limit=100')).toEqual([100, 1]);
  expect(await screen('limit=101')).toEqual([101, 2]);
  expect(await screen('limit=1000&words=nothing')).toEqual([0, 1]);
});

test.for(SCREEN_SORTS)('pages in the order of %s return every term once', async (sort, { client }) => {
  const seen: number[] = [];
  let cursor = '';
  do {
    const { json } = await get(client, `sort=${sort}&limit=60${cursor && `&cursor=${cursor}`}`);
    expect(json.data.total).toBe(TERMS);
    seen.push(...json.data.rows.map(({ rank }: { rank: number }) => rank));
    cursor = json.data.nextCursor ?? '';
  } while (cursor);
  expect(seen.toSorted((a, b) => a - b)).toEqual(terms.map(({ rank }) => rank));
});

test('a cursor continues with its week after a newer one has come', async ({ souk, client }) => {
  const first = (await get(client, 'limit=200')).json.data;
  const next = { week: WEEK, sort: 'rank', value: 200, rank: 200, wordId: first.rows.at(-1).wordId } as const;
  expect(first.nextCursor).toBe(cursorOf(next));
  await load(souk.database, 'us', csvReport('2026-04-18', terms.slice(0, 3)));
  const { json } = await get(client, `limit=200&cursor=${first.nextCursor}`);
  expect(json.data).toMatchObject({ week: WEEK, total: TERMS, nextCursor: null });
  expect(json.data.rows.map(({ rank }: { rank: number }) => rank)).toEqual(
    Array.from({ length: 50 }, (_, i) => 201 + i),
  );
  expect((await get(client, '')).json.data).toMatchObject({ week: '2026-04-18', total: 3 });
});

const written = (position: object) => Buffer.from(Object.values(position).join(' ')).toString('base64url');
const row = { week: WEEK, sort: 'rank', value: 5, rank: 5, wordId: 33 };

test.for<[query: string, problem: string]>([
  ['rankMin=0', 'rankMin: must be an integer from 1 to 2000000000, got "0"'],
  ['rankMin=9&rankMax=3', 'rankMax: must not be below rankMin (9), got 3'],
  ['rank=5', 'rank: must be an object with min and max, got "5"; in a query, send rankMin and rankMax'],
  ['clickShareMax=100.5', 'clickShareMax: must be a number from 0 to 100, got "100.5"'],
  ['change4Min=x', 'change4Min: must be an integer'],
  ['rankMax=1&rankMax=2', 'rankMax: was given more than once'],
  ['words=%3F%3F', 'words: item 1 must have a letter or a digit'],
  [
    'notWords=a%20b%20c%20d%20e%20f%20g%20h%20i%20j%20k',
    'notWords: must have at most 10 words in all, got 11',
  ],
  ['week=2026-04-04', `week: must be a loaded week, got 2026-04-04; nearest: ${WEEK}`],
  ['sort=clicks', 'sort: must be one of rank, -rank'],
  ['limit=1001', 'limit: must be an integer from 1 to 1000'],
  ['newSince=yesterday', 'newSince: must be a date'],
  ['cursor=x', 'cursor: must be the nextCursor of an answer'],
  [`cursor=${written({ ...row, value: 6 })}`, 'cursor: must be the nextCursor of an answer'],
  [`cursor=${written({ ...row, wordId: 3e9 })}`, 'cursor: must be the nextCursor of an answer'],
  [`cursor=${written({ ...row, wordId: '33 ' })}`, 'cursor: must be the nextCursor of an answer'],
  [`cursor=${written({ ...row, wordId: 34 })}`, 'cursor: is not of the country us'],
  [`cursor=${written(row)}&sort=-rank`, 'cursor: is of the sort rank, not -rank'],
  [`cursor=${written(row)}&week=${FOUR_BEFORE}`, `cursor: is of the week ${WEEK}, not ${FOUR_BEFORE}`],
  [`cursor=${written({ ...row, week: '2020-01-04' })}`, 'cursor: must be a loaded week, got 2020-01-04'],
  [
    `cursor=${written({ ...row, sort: 'firstSeen', value: '0000-01-01' })}&sort=firstSeen`,
    'cursor: must be the',
  ],
  [`cursor=${written({ ...row, sort: 'change4', value: -2147483648 })}&sort=change4`, 'cursor: must be the'],
])('refuses %s and charges nothing', async ([query, problem], { client }) => {
  const { status, json } = await get(client, query);
  expect([status, json.msg.slice(0, problem.length)]).toEqual([400, problem]);
  expect(await unitsUsed(client)).toBe(0);
});

test.for<[body: object, problem: string]>([
  [{ change4: { minimum: 3 } }, 'change4: must have min, max or both, got "minimum"'],
  [{ change4: {} }, 'change4: must have min, max or both, got neither'],
  [{ clickshare: { min: 3 } }, 'clickshare: is not a known field; did you mean clickShare?'],
  [{ rank: { min: 1 }, rankMin: 2 }, 'rank: min was given more than once'],
  [{ rank: { min: null } }, 'rank: min must be an integer'],
  [{ rank: { min: 9, max: 3 } }, 'rank: max must not be below min (9), got 3'],
  [{ rank: { min: 9 }, rankMax: 3 }, 'rankMax: must not be below min (9), got 3'],
])('refuses the body %j and charges nothing', async ([body, problem], { client }) => {
  const { status, json } = await client.post(SCREEN, { country: 'us', ...body });
  expect([status, json.msg.slice(0, problem.length)]).toEqual([400, problem]);
  expect(await unitsUsed(client)).toBe(0);
});

test('any position of a cursor is answered', async ({ client }) => {
  for (const [value, rank, wordId] of [
    [2_147_483_647, 2_147_483_647, 2_147_483_633],
    [-2_147_483_647, 1, 33],
    ['', 1, 33],
  ]) {
    const cursor = written({ week: WEEK, sort: '-change4', value, rank, wordId });
    expect((await get(client, `sort=-change4&cursor=${cursor}`)).status).toBe(200);
  }
  for (const newSince of ['0000-01-01', '9999-12-31'])
    expect((await get(client, `newSince=${newSince}`)).status).toBe(200);
});

test('brands of products are those that were looked up in this service, with the day of the oldest', async ({
  client,
}) => {
  const { json } = await get(client, `week=${WEEK}&brand=LUMIO&newSince=2026-01-01&rankMax=1`);
  expect(json.data.rows).toHaveLength(1);
  expect(json.data.rows[0].top[1]).toEqual({ asin: 'B0SECOND00', brand: 'Second Brand', title: null });
  expect(json.data.figures['top.brand'].date).toBe('2026-04-02');
});

test('returns a table of its rows as CSV', async ({ client }) => {
  const { text } = await get(client, `week=${WEEK}&rankMax=1&format=csv`);
  expect(text.trim().split('\n')).toEqual([
    'country,week,wordId,keyword,rank,change4,change12,clickShare,conversionShare,firstSeen,asin1,asin2,asin3',
    expect.stringMatching(
      new RegExp(`^us,${WEEK},\\d+,desk lamp 0,1,,,1.5,0.25,${WEEK},B0SCREEN00,B0SECOND00,$`),
    ),
  ]);
});

test('finds and counts terms behind thousands that have an excluded word', async ({ souk, client }) => {
  const lamps = Array.from({ length: 2_100 }, (_, i) => ({ term: `led lamp ${i}`, rank: i + 1 }));
  const others = ['blue tent', 'red tent', 'desk lamps', 'oil lamp', 'small chair'];
  const behind = others.map((term, i) => ({ term, rank: 3_000 + i }));
  await load(souk.database, 'fr', csvReport(WEEK, [...lamps, ...behind]));
  const found = async (query: string) => {
    const { json } = await client.get(`${SCREEN}?country=fr&${query}`);
    return json.data as { rows: { keyword: string }[]; total: number; nextCursor: string | null };
  };
  const names = ({ rows }: { rows: { keyword: string }[] }) => rows.map(({ keyword }) => keyword);
  const without = 'notWords=lamp,oil%20chair,blue%20chair';
  const all = await found(without);
  expect([names(all), all.total]).toEqual([['blue tent', 'red tent', 'small chair'], 3]);
  const first = await found(`${without}&limit=2&sort=-rank`);
  expect([names(first), first.total]).toEqual([['small chair', 'red tent'], 3]);
  const second = await found(`${without}&limit=2&sort=-rank&cursor=${first.nextCursor}`);
  expect([names(second), second.total, second.nextCursor]).toEqual([['blue tent'], 3, null]);
});
