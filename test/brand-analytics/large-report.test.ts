import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readCsvReport } from '../../src/brand-analytics/import/csv-report.ts';
import type { ReportRow } from '../../src/brand-analytics/import/report.ts';
import { describeRows } from '../../src/brand-analytics/rank-row.ts';
import { walkRanks } from '../../src/brand-analytics/rank-walk.ts';
import { loadedWeeks } from '../../src/brand-analytics/weeks.ts';
import { openTestDatabase } from '../support/database.ts';
import { csvReport, load, REPORTS, type TestTerm } from '../support/reports.ts';

const database = await openTestDatabase();

const WEEK = '2026-03-07';
const TERMS = 1_500;
/** The interval of titles with a line end and quotes. */
const ODD = 50;
const asin = (rank: number, place: number) => `B${String(rank * 10 + place).padStart(9, '0')}`;

/** Several megabytes. */
const terms: TestTerm[] = Array.from({ length: TERMS }, (_, i) => ({
  term: `term number ${i + 1}`,
  rank: i + 1,
  brands: [`Brand ${i % 900}`, i % 3 === 0 ? 'Nör\u0000dwell' : ''],
  categories: [`Category ${i % 7}`],
  products: [1, 2, 3].map((place) => [
    asin(i + 1, place),
    `${i % ODD === 0 ? 'A "long"\ntitle ' : 'Title '}${i + 1} ${'x'.repeat(2_400)}`,
    '7.5',
    '',
  ]),
}));
const report = csvReport(WEEK, terms);
const good = Buffer.from(report);
/** Line ends in titles come before it: three for each odd row, and the two of the head. */
const lineOf = (rank: number) => 2 + rank + 3 * Math.ceil((rank - 1) / ODD);

test('reads the same rows from chunks of any size', async () => {
  async function* chunks() {
    for (let from = 0, bytes = 1; from < good.length; from += bytes, bytes = (bytes * 7 + 3) % 90_001)
      yield good.subarray(from, from + bytes);
  }
  const rows: ReportRow[] = [];
  for await (const batch of readCsvReport(Readable.from(chunks(), { objectMode: false })).batches)
    rows.push(...batch);
  expect(rows.map(({ rank, term, at }) => ({ rank, term, at }))).toEqual(
    terms.map(({ rank, term }) => ({ rank, term, at: lineOf(rank) })),
  );
  expect(rows.at(-1)?.products.map((product) => product?.title)).toEqual(
    terms.at(-1)?.products?.map(([, title]) => title),
  );
});

test('imports all rows of a large report', async () => {
  expect(await load(database, 'us', good)).toMatchObject({ week: WEEK, terms: TERMS, warnings: [] });
  const week = (await loadedWeeks(database, REPORTS, 'us')).find((one) => one.week === WEEK);
  if (!week) throw new Error('the week is not there');
  for (const rank of [1, 1_001, TERMS]) {
    const walk = { filter: {}, after: rank - 1, to: rank, count: 1 };
    const [row] = await describeRows(database, 'us', await walkRanks(database, week, walk));
    const { brands, categories, products } = terms[rank - 1] ?? {};
    expect(row).toMatchObject({
      keyword: `term number ${rank}`,
      rank,
      brands: brands?.filter((brand) => brand !== '').map((brand) => brand.replace('\u0000', ' ')),
      categories,
      goods: products?.map(([id, title]) => ({ asin: id, title: title.replace('\n', ' '), clickShare: 7.5 })),
    });
  }
});

const inRow = (rank: number, from: string, to: string) =>
  Buffer.from(report.replace(`\n${rank},term number ${rank},`, (found) => found.replace(from, to)));

test.each([
  ['a bad rank', inRow(1_480, '1480', 'x'), `Line ${lineOf(1_480)}: the rank "x" is not a positive integer.`],
  ['a blank term', inRow(1_480, 'term number 1480', ' '), `Row ${lineOf(1_480)}: the search term is blank.`],
  [
    'rows with different dates',
    Buffer.from(report.replace(/2026-03-07\n$/, '2026-03-14\n')),
    `Line ${lineOf(TERMS)}: the reporting date is 2026-03-14, but 2026-03-07 in the rows before.`,
  ],
  ['an unclosed quote', inRow(1_200, 'term', '"term'), /^Line \d+: /],
])('refuses %s after the first megabytes', async (_, content, reason) => {
  await expect(load(database, 'uk', content)).rejects.toThrow(reason);
  expect(await loadedWeeks(database, REPORTS, 'uk')).toEqual([]);
});

test('refuses decreasing ranks anywhere', async () => {
  // Each of these rows follows a larger rank in its piece.
  const ranks = terms.map((term) => ({ ...term, rank: term.rank > 1_400 ? term.rank - 300 : term.rank }));
  await expect(load(database, 'uk', csvReport(WEEK, ranks))).rejects.toThrow(
    `Row ${lineOf(1_401)}: rank 1101 follows rank 1400; ranks must not decrease.`,
  );
});
