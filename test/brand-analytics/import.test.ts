import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { describeRows } from '../../src/brand-analytics/rank-row.ts';
import { walkRanks } from '../../src/brand-analytics/rank-walk.ts';
import { loadedWeeks } from '../../src/brand-analytics/weeks.ts';
import type { ReportSite } from '../../src/operations/brand-analytics/keywords.ts';
import { openTestDatabase } from '../support/database.ts';
import { csvReport, jsonReport, load, REPORTS, ranked, reportEntry } from '../support/reports.ts';

const database = await openTestDatabase();

async function rowsOf(site: ReportSite, week: string) {
  const found = (await loadedWeeks(database, REPORTS, site)).find((one) => one.week === week);
  if (!found) return null;
  const walk = { filter: {}, after: 0, to: found.lastRank, count: 1000 };
  return describeRows(database, site, await walkRanks(database, found, walk));
}

const moves = (rows: Awaited<ReturnType<typeof rowsOf>>) =>
  rows?.map(({ keyword, lastRank, fluctuationType }) => [keyword, lastRank, fluctuationType]);

/** Returns all rows of brand analytics, as one text. */
async function everything(): Promise<string> {
  const tables = ['aba_weeks', 'aba_terms', 'aba_products', 'aba_labels', 'aba_ranks'];
  const parts = tables.map(async (table) => {
    const { rows } = await database.query(`select t::text as line from ${table} t order by 1`);
    return JSON.stringify(rows);
  });
  const { rows } = await database.query("select count(*) from pg_class where relname like 'aba\\_%'");
  return `${(await Promise.all(parts)).join('\n')} ${JSON.stringify(rows)}`;
}

const tent = {
  term: ' Camping  TENT ',
  rank: 1,
  brands: ['Nordwell', '', 'KESTREL'],
  categories: ['Sports'],
  products: [
    ['B0TENT0001', 'A "large" tent, green \\ 2', '7.19', '2.35'],
    ['B0TENT0002', '', '6,89%', ''],
  ] as [string, string, string, string][],
};

test('imports the rows of a downloaded CSV file', async () => {
  const result = await load(database, 'us', csvReport('2026-03-07', [tent, { term: 'x', rank: 2 }]));
  expect(result).toMatchObject({
    week: '2026-03-07',
    terms: 2,
    replaced: false,
    recomputed: [],
    warnings: [],
  });
  const [row, second] = (await rowsOf('us', '2026-03-07')) ?? [];
  expect(row).toMatchObject({
    keyword: 'camping tent',
    rank: 1,
    lastRank: null,
    fluctuationType: null,
    brands: ['Nordwell', 'KESTREL'],
    categories: ['Sports'],
    clickShareSum: 14.08,
    convShareSum: 2.35,
    goods: [
      {
        position: 1,
        asin: 'B0TENT0001',
        title: 'A "large" tent, green \\ 2',
        clickShare: 7.19,
        conversionShare: 2.35,
      },
      { position: 2, asin: 'B0TENT0002', title: null, clickShare: 6.89, conversionShare: null },
    ],
  });
  expect(second).toMatchObject({ clickShareSum: 0, convShareSum: null, goods: [] });
});

test.each(['plain', 'gzip'])('imports the largest department of a %s report of the API', async (form) => {
  const text = jsonReport('2026-03-07', [
    reportEntry('kettle', 1, 1, { clickedItemName: 'A kettle' }),
    reportEntry('kettle', 1, 2),
    reportEntry('kettle', 1, 4),
    reportEntry('toaster', 2, 1),
    reportEntry('kettle', 1, 1, { departmentName: 'Kitchen' }),
  ]);
  const result = await load(database, 'uk', form === 'gzip' ? gzipSync(text) : text);
  expect(result.warnings).toEqual(['1 rows of 1 smaller departments were left out.']);
  const rows = await rowsOf('uk', '2026-03-07');
  expect(rows?.map(({ keyword, goods }) => [keyword, goods.length])).toEqual([
    ['kettle', 2],
    ['toaster', 1],
  ]);
  expect(rows?.[0]?.goods[0]).toMatchObject({
    asin: 'B0ENTRY001',
    title: 'A kettle',
    clickShare: 7.19,
    conversionShare: 50,
  });
});

test('takes the week of a file in the old layout from line 1 or from the operator', async () => {
  const names = 'Department,Search Term,Search Frequency Rank,a,b,c,d,e,f,g,h,i,j,k,l';
  const row = '"Amazon.de","zelt","1,234","B0OLD00001","Zelt","12.5%","3%",,,,,,,,';
  await load(database, 'de', `Viewing=[3/1/26 - 3/7/26]\n${names}\n${row}\n`);
  expect(await rowsOf('de', '2026-03-07')).toMatchObject([
    { keyword: 'zelt', rank: 1234, clickShareSum: 12.5, convShareSum: 3, brands: [] },
  ]);
  await expect(load(database, 'de', `without a week\n${names}\n${row}\n`)).rejects.toThrow(
    'does not name its week',
  );
  expect(await load(database, 'de', `without a week\n${names}\n${row}\n`, '2026-03-14')).toMatchObject({
    week: '2026-03-14',
  });
});

const good = csvReport('2026-03-07', ranked('one', 'two', 'three'));
const inLine = (line: number, from: string, to: string) =>
  good
    .split('\n')
    .map((text, i) => (i === line - 1 ? text.replace(from, to) : text))
    .join('\n');

const csv = (...about: Tail<typeof csvReport>) => csvReport('2026-03-07', ...about);
const json = (...about: Tail<typeof jsonReport>) => jsonReport('2026-03-07', ...about);
type Tail<Report extends (...about: never) => unknown> =
  Parameters<Report> extends [unknown, ...infer Others] ? Others : never;
const [one, two] = [reportEntry('a', 1, 1), reportEntry('b', 2, 1)];

test.each([
  ['a bad rank', inLine(4, '2,', 'x,'), 'Line 4: the rank "x" is not a positive integer.'],
  ['decreasing ranks', inLine(5, '3,', '1,'), 'Row 5: rank 1 follows rank 2; ranks must not decrease.'],
  ['a blank term', inLine(4, 'two', ' '), 'Row 4: the search term is blank.'],
  ['a missing column', inLine(5, ',,', ','), 'Line 5: expected 21 columns, got 20.'],
  [
    'a share above 100',
    csv([{ ...tent, products: [['B0TENT0001', '', '101', '']] }]),
    'Line 3: column 11: "101" is not a share from 0 to 100.',
  ],
  [
    'rows with different dates',
    inLine(5, '2026-03-07', '2026-03-14'),
    'Line 5: the reporting date is 2026-03-14',
  ],
  [
    'a date that is not a Saturday',
    good.replaceAll('2026-03-07', '2026-03-06').replace('2026-03-01', '2026-02-28'),
    'is not a Saturday',
  ],
  [
    'a line 1 that names another week',
    csv(ranked('one'), 'x=["2026-03-08 - 2026-03-14"]'),
    'the week in line 1 ends on 2026-03-14',
  ],
  [
    'a report of a month',
    csv(ranked('one'), 'x=["2026-03-01 - 2026-03-31"]'),
    'Line 1: the report covers 31 days',
  ],
  ['a filtered download', csv(ranked('one'), 'a=["b"],c=["d"],e=["f"]'), 'Line 1: the download was filtered'],
  ['columns of another report', 'a\nb,c\n1,2\n', 'Line 2: must name the columns'],
  ['no rows', good.split('\n').slice(0, 2).join('\n'), 'The file has no rows.'],
  ['an empty file', '', 'The file is empty.'],
  ['an unclosed quote', inLine(4, 'two', '"two'), /Line 4: /],
  [
    'a term that is listed twice',
    csv([...ranked('one'), { term: 'ONE', rank: 1 }]),
    'Rows 3 and 4 have the same term, "one".',
  ],
  ['truncated gzip', gzipSync(good).subarray(0, 90), 'is incomplete'],
  [
    'a document without its last bracket',
    json([one], 'ATVPDKIKX0DER').slice(0, -1),
    'After entry 1: the file is incomplete.',
  ],
  [
    'a document that is not JSON',
    '{"reportSpecification" nonsense',
    'After entry 0: the document is not JSON',
  ],
  [
    'a document that ends within the first entry',
    '{"dataByDepartmentAndSearchTerm":[{"se',
    'After entry 0: the file is incomplete.',
  ],
  [
    'an entry that is not JSON',
    json([one, two, 7]).replace(',7]', ',nonsense]'),
    'After entry 2: the document is not JSON',
  ],
  [
    'a comma after the last entry',
    json([one]).replace('}]', '},]'),
    'After entry 1: the document is not JSON',
  ],
  [
    'text after the list of entries',
    json([one]).replace('}]', '}]x'),
    'After entry 1: the document is not JSON',
  ],
  [
    'a second list of entries',
    json([one]).replace('}]', '}],"dataByDepartmentAndSearchTerm":[{}]'),
    'After entry 1: the document has a second list of entries.',
  ],
  [
    'a document of another report',
    json([]).replace('SEARCH_TERMS', 'MARKET_BASKET').replace('dataByDepartmentAnd', 'other'),
    'reportSpecification must describe a weekly search-terms report.',
  ],
  [
    'a document that is not UTF-8',
    Buffer.from(json([one, reportEntry('caf\u00e9', 2, 1)]), 'latin1'),
    'After entry 1: the document is not JSON.',
  ],
  [
    'a CSV file that is not UTF-8',
    Buffer.from(csv(ranked('one', 'caf\u00e9')).replace('\uFEFF', ''), 'latin1'),
    'Line 4: the text is not UTF-8.',
  ],
  [
    'an object instead of a term',
    json([reportEntry('a', 1, 1, { searchTerm: { toString: 1 } })]),
    'Entry 1: searchTerm must be a string, got several values.',
  ],
  [
    'a document with more than 1,000 departments',
    jsonReport(
      '2026-03-07',
      Array.from({ length: 1_001 }, (_, i) => reportEntry('a', 1, 1, { departmentName: `Department ${i}` })),
    ),
    'The file has more than 1000 departments.',
  ],
  ['a list without entries', json([], 'ATVPDKIKX0DER'), 'The file has no rows.'],
  [
    'a bad entry',
    json([one, reportEntry('b', 2, 1, { clickShare: 1.5 })]),
    'Entry 2: clickShare must be a number from 0 to 1, got 1.5',
  ],
  ['another marketplace', json([one]), 'not ATVPDKIKX0DER (us)'],
])('refuses %s and changes no data', async (_, content, reason) => {
  const before = await everything();
  await expect(load(database, 'us', content)).rejects.toThrow(reason);
  expect(await everything()).toBe(before);
});

test('merges terms that differ only in case and spaces, with the better rank', async () => {
  const terms = [...ranked('Red Shoes', 'red  shoes', 'blue')];
  const { warnings, terms: count } = await load(database, 'it', csvReport('2026-03-07', terms));
  expect(count).toBe(2);
  expect(warnings).toEqual(['1 terms differ from another only in their spelling; the better rank was kept.']);
  expect((await rowsOf('it', '2026-03-07'))?.map(({ rank }) => rank)).toEqual([1, 3]);
});

test('compares ranks with the previous week in any order of imports, and again when a week is replaced', async () => {
  const filler = Array.from({ length: 40 }, (_, i) => `filler ${i}`);
  const first = ranked('climber', 'sinker', 'same', ...filler);
  const second = ranked('same', 'newcomer', ...filler, 'sinker').map((term) => ({ ...term }));
  await load(database, 'fr', csvReport('2026-03-14', second));
  expect(moves(await rowsOf('fr', '2026-03-14'))?.[0]).toEqual(['same', null, null]);

  const backfill = await load(database, 'fr', csvReport('2026-03-07', first));
  expect(backfill).toMatchObject({ replaced: false, recomputed: ['2026-03-14'] });
  const after = moves(await rowsOf('fr', '2026-03-14'));
  expect(after?.slice(0, 2)).toEqual([
    ['same', 3, 'stable'],
    ['newcomer', null, 'new'],
  ]);
  expect(after?.at(-1)).toEqual(['sinker', 2, 'falling']);

  const again = await load(database, 'fr', csvReport('2026-03-07', ranked(...filler, 'same', 'sinker')));
  expect(again).toMatchObject({ replaced: true, recomputed: ['2026-03-14'] });
  expect(moves(await rowsOf('fr', '2026-03-14'))?.[0]).toEqual(['same', 41, 'rising']);
  expect((await rowsOf('fr', '2026-03-07'))?.[0]).toMatchObject({ keyword: 'filler 0', rank: 1 });
  const fourLater = await load(database, 'fr', csvReport('2026-04-04', ranked('same')));
  expect(fourLater.warnings[0]).toMatch(/^It has 1 terms; the 2 weeks before have 4\d on average\.$/);
  expect((await rowsOf('fr', '2026-04-04'))?.[0]).toMatchObject({
    lastRank: null,
    rank4w: 41,
    rankChange4w: 40,
  });
});

test('a term keeps its id, and has the first week that contains it', async () => {
  const idOf = async (week: string) => (await rowsOf('ca', week))?.[0]?.wordId;
  await load(database, 'ca', csvReport('2026-03-14', ranked('kept')));
  const id = await idOf('2026-03-14');
  await load(database, 'ca', csvReport('2026-03-07', ranked('kept', 'other')));
  expect(await idOf('2026-03-07')).toBe(id);
  const { rows } = await database.query('select first_seen::text from aba_terms where id = $1', [id]);
  expect(rows).toEqual([{ first_seen: '2026-03-07' }]);
});

test('a product has the title of the newest report with one, in any order of imports', async () => {
  const titled = (week: string, titles: Record<string, string>) =>
    csvReport(week, [
      {
        term: 'lamp',
        rank: 1,
        products: Object.entries(titles).map(([asin, title]) => [asin, title, '5', '1']),
      },
    ]);
  await load(database, 'it', titled('2026-03-21', { B0LAMP0001: 'new', B0LAMP0002: '' }));
  await load(database, 'it', titled('2026-03-14', { B0LAMP0001: 'old', B0LAMP0002: 'its only title' }));
  const titlesIn = async (week: string) =>
    (await rowsOf('it', week))?.[0]?.goods.map(({ title }: { title: string | null }) => title);
  expect(await titlesIn('2026-03-14')).toEqual(['new', 'its only title']);
  await load(database, 'it', titled('2026-03-21', { B0LAMP0001: 'corrected' }));
  await load(database, 'it', titled('2026-03-28', { B0LAMP0002: 'newest' }));
  expect(await titlesIn('2026-03-14')).toEqual(['corrected', 'newest']);
});

test('replaces characters that PostgreSQL cannot store with a space', async () => {
  const odd = {
    term: 'camp\u0000stove',
    rank: 1,
    brands: ['Nord\u0000well', '\u0000'],
    categories: ['Sports\u0000\u0001Outdoors'],
    products: [['B0STOVE001', 'A\u0000stove', '7.19', '2.35']] as [string, string, string, string][],
  };
  await load(database, 'es', csvReport('2026-03-07', [odd, { ...odd, rank: 2, term: 'stove' }]));
  const names = { brands: ['Nord well'], categories: ['Sports Outdoors'], goods: [{ title: 'A stove' }] };
  expect(await rowsOf('es', '2026-03-07')).toMatchObject([
    { keyword: 'camp stove', ...names },
    { keyword: 'stove', ...names },
  ]);
  const entry = reportEntry('camp\ud800stove', 1, 1, { clickedItemName: 'A\udc00stove' });
  await load(database, 'es', jsonReport('2026-03-14', [entry], 'A1RKKUPIHCS9HS'));
  expect(await rowsOf('es', '2026-03-14')).toMatchObject([
    { keyword: 'camp stove', goods: [{ title: 'A stove' }] },
  ]);
});

test('if most terms of a week are new, the other terms keep their ids and first weeks, and the table keeps its indexes', async () => {
  const indexes = async () => {
    const { rows } = await database.query(
      "select indexname, indexdef from pg_indexes where schemaname = 'public' and tablename = 'aba_terms_mx' order by 1",
    );
    return rows;
  };
  const terms = async () => {
    const { rows } = await database.query<{ id: number; term: string; first: string }>(
      'select id, term, first_seen::text as first from aba_terms where site = 11 order by id',
    );
    return rows;
  };
  const before = await indexes();
  await load(database, 'mx', csvReport('2026-03-07', ranked('uno', 'dos')));
  const [uno, dos] = await terms();
  await load(database, 'mx', csvReport('2026-03-14', ranked('tres', 'dos', 'cuatro', 'cinco', 'seis')));
  const later = await terms();
  expect(later.slice(0, 2)).toEqual([uno, dos]);
  expect(later.slice(2).map(({ term, first }) => [term, first])).toEqual([
    ['tres', '2026-03-14'],
    ['cuatro', '2026-03-14'],
    ['cinco', '2026-03-14'],
    ['seis', '2026-03-14'],
  ]);
  expect(await indexes()).toEqual(before);
  await load(database, 'mx', csvReport('2026-03-21', ranked('seis', 'siete')));
  expect((await terms()).slice(0, 6)).toEqual(later);
  expect((await rowsOf('mx', '2026-03-21'))?.map(({ keyword, lastRank }) => [keyword, lastRank])).toEqual([
    ['seis', 5],
    ['siete', null],
  ]);
});

const FIXTURES = resolve('../shared/fixtures/brand-analytics');

describe.skipIf(!existsSync(FIXTURES))('real rows (where ../shared/fixtures/brand-analytics exists)', () => {
  test('the CSV download and the report of the API have the same rows', async () => {
    const week = '2026-04-11';
    const read = (name: string) => readFileSync(join(FIXTURES, name));
    await load(database, 'us', read('top-search-terms-us-week-2026-04-11.csv'));
    const fromCsv = await rowsOf('us', week);
    expect(fromCsv).toHaveLength(67);
    expect(fromCsv?.[0]).toMatchObject({ keyword: 'needoh', clickShareSum: 18.77, convShareSum: 13.41 });
    await load(database, 'us', read('search-terms-report-us-week-2026-04-11.derived.json.gz'));
    const fromApi = await rowsOf('us', week);
    const shares = (rows: typeof fromApi) =>
      rows?.map(({ wordId, rank, clickShareSum, goods }) => [
        wordId,
        rank,
        clickShareSum,
        goods.map(({ asin }) => asin),
      ]);
    expect(shares(fromApi)).toEqual(shares(fromCsv));
  });

  test.each([
    ['header-zh-2026-a.csv', 'Line 1: the download was filtered'],
    ['top-search-terms-missing-header.csv', 'Line 2: must name the columns'],
  ])('refuses %s', async (name, reason) => {
    await expect(load(database, 'us', readFileSync(join(FIXTURES, name)))).rejects.toThrow(reason);
  });
});
