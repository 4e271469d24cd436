import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readJsonReport } from '../../src/brand-analytics/import/json-report.ts';
import type { ReportRow } from '../../src/brand-analytics/import/report.ts';
import { describeRows } from '../../src/brand-analytics/rank-row.ts';
import { walkRanks } from '../../src/brand-analytics/rank-walk.ts';
import { loadedWeeks } from '../../src/brand-analytics/weeks.ts';
import { openTestDatabase } from '../support/database.ts';
import { jsonReport, load, REPORTS, reportEntry } from '../support/reports.ts';

const database = await openTestDatabase();

const WEEK = '2026-03-07';
const TERMS = 2_000;
/** Terms of a second department follow those of the first. */
const BEAUTY = 150;

/** Characters that would end an entry, a list or a text outside quotes. */
const ODD = '{"A \\"],[{}, title" \\\\';

const asin = (rank: number, place: number) => `B${String(rank * 10 + place).padStart(9, '0')}`;
const title = (rank: number) => `${ODD} ${rank} ${'x'.repeat(1_700)}`;

const entriesOf = (rank: number, department: string) =>
  [1, 2, 3].map((place) =>
    reportEntry(`term number ${rank}`, rank, place, {
      departmentName: department,
      clickedAsin: asin(rank, place),
      clickedItemName: title(rank),
    }),
  );
const entries = [
  ...Array.from({ length: TERMS }, (_, i) => entriesOf(i + 1, 'Amazon.co.uk')),
  ...Array.from({ length: BEAUTY }, (_, i) => entriesOf(i + 1, 'Beauty')),
].flat();
const report = jsonReport(WEEK, entries);

/** Reads a document that arrives in chunks of changing sizes. */
async function read(text: string) {
  const file = Buffer.from(text);
  async function* chunks() {
    for (let from = 0, bytes = 1; from < file.length; from += bytes, bytes = (bytes * 7 + 3) % 90_001)
      yield file.subarray(from, from + bytes);
  }
  const report = readJsonReport(Readable.from(chunks(), { objectMode: false }));
  const rows: ReportRow[] = [];
  for await (const batch of report.batches) rows.push(...batch);
  return { rows, facts: report.facts() };
}

test.each([
  ['without white space', report],
  ['with white space', JSON.stringify(JSON.parse(report), null, 2)],
])('reads the same rows of a document %s from chunks of any size', async (_, text) => {
  const { rows, facts } = await read(text);
  expect(facts.week).toBe(WEEK);
  expect(rows).toHaveLength(TERMS + BEAUTY);
  for (const [i, { at, rank, term, products }] of rows.entries()) {
    const expected = i < TERMS ? i + 1 : i + 1 - TERMS;
    // A term has three entries, which stay in one row.
    expect([at, rank, term, products.length]).toEqual([3 * i + 1, expected, `term number ${expected}`, 3]);
  }
});

test('accepts entries before the specification, and other fields', async () => {
  const { reportSpecification } = JSON.parse(report);
  const list = [1, 2].flatMap((rank) => entriesOf(rank, 'Beauty'));
  for (const [some, rows] of [
    [[], 0],
    [list, 2],
  ] as const) {
    const text = JSON.stringify({
      other: [1, [2], { dataByDepartmentAndSearchTerm: [1] }],
      dataByDepartmentAndSearchTerm: some,
      reportSpecification,
    });
    expect((await read(text)).rows).toHaveLength(rows);
  }
});

test('imports the largest department of a large document', async () => {
  expect(await load(database, 'uk', report)).toMatchObject({
    week: WEEK,
    terms: TERMS,
    warnings: [`${BEAUTY} rows of 1 smaller departments were left out.`],
  });
  const week = (await loadedWeeks(database, REPORTS, 'uk')).find((one) => one.week === WEEK);
  if (!week) throw new Error('the week is not there');
  for (const rank of [1, 1_001, TERMS]) {
    const walk = { filter: {}, after: rank - 1, to: rank, count: 1 };
    const [row] = await describeRows(database, 'uk', await walkRanks(database, week, walk));
    expect(row).toMatchObject({
      keyword: `term number ${rank}`,
      rank,
      goods: [1, 2, 3].map((place) => ({ asin: asin(rank, place), title: title(rank), conversionShare: 50 })),
    });
  }
});

/** The n-th entry, from 1, changed in the text. */
function withEntry(n: number, change: (entry: string) => string): string {
  const text = JSON.stringify(entries[n - 1]);
  return report.replace(text, () => change(text));
}

test.each([
  [
    'a bad share',
    withEntry(5_600, (e) => e.replace(/"clickShare":[\d.]+/, '"clickShare":7')),
    'Entry 5600: clickShare must be a number from 0 to 1, got 7.',
  ],
  [
    'a blank term',
    withEntry(5_602, (e) => e.replace(/term number \d+/, ' ')),
    'Row 5602: the search term is blank.',
  ],
  [
    'an entry that is not JSON',
    withEntry(5_601, (e) => e.replace(':', ';')),
    'After entry 5600: the document is not JSON',
  ],
  [
    'an extra quote',
    withEntry(5_601, (e) => e.replace('term number', 'term" number')),
    'After entry 5600: the document is not JSON.',
  ],
  [
    'a missing bracket',
    withEntry(5_601, (e) => e.slice(0, -1)),
    'After entry 5600: the document is not JSON.',
  ],
  ['a missing end', report.slice(0, report.length - 700), 'After entry 6449: the file is incomplete.'],
])('refuses %s after the first megabytes', async (_, content, reason) => {
  await expect(load(database, 'ca', content)).rejects.toThrow(reason);
  expect(await loadedWeeks(database, REPORTS, 'ca')).toEqual([]);
});
