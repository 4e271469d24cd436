import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BinaryRows, startCopy } from '../../src/brand-analytics/import/copy.ts';
import { shareOf } from '../../src/brand-analytics/import/report.ts';
import { openTestDatabase } from '../support/database.ts';

const database = await openTestDatabase();

interface Line {
  small: number;
  whole: number;
  large: number;
  text: string;
  list: number[];
}

const LARGEST_ASIN = 36 ** 10 - 1;

const line = fc.record({
  small: fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 }),
  whole: fc.integer(),
  large: fc.integer({ min: 0, max: LARGEST_ASIN }),
  text: fc.string({ unit: fc.oneof(fc.constantFrom('a', '\\', '"', '\t', 'ß', '雨', '🎁')), maxLength: 30 }),
  list: fc.array(fc.integer(), { minLength: 1, maxLength: 40 }),
});

async function copied(lines: readonly Line[]): Promise<Line[]> {
  const client = await database.connect();
  try {
    await client.query('begin');
    await client.query(
      'create temporary table lines (small smallint, whole integer, large bigint, text text, list integer[]) on commit drop',
    );
    const copy = startCopy(client, 'lines');
    const rows = new BinaryRows();
    for (const [i, { small, whole, large, text, list }] of lines.entries()) {
      rows.begin(5);
      rows.int2(small);
      rows.int4(whole);
      rows.int8(large);
      rows.text(text);
      rows.int4s(list);
      // A returned buffer is not written to again.
      if (i % 3 === 0) void copy.write(rows.take());
    }
    await copy.write(rows.take());
    await copy.end();
    return (await client.query<Line>('select * from lines')).rows;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

test('copies every value unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 20 }), async (lines) => {
      expect(await copied(lines)).toEqual(lines);
    }),
    { numRuns: 25 },
  );
});

test('grows its buffer for rows that do not fit', async () => {
  const one = { small: -1, whole: -1, large: LARGEST_ASIN, text: '雨'.repeat(400_000), list: [1] };
  expect(await copied([one, one])).toEqual([one, one]);
});

test.each([
  ['', -1],
  ['0', 0],
  ['7.19', 719],
  ['7.1', 710],
  ['07.10', 710],
  ['100', 10_000],
  ['100.00', 10_000],
  ['6,89%', 689],
  ['12.5 %', 1250],
  ['2.345', 235],
  ['100.01', null],
  ['101', null],
  ['999.99', null],
  ['1000', null],
  ['.5', null],
  ['5.', null],
  ['1.2.3', null],
  ['-1', null],
  ['1e1', null],
  ['x', null],
])('parses the share "%s" as %s hundredths of a percent', (text, hundredths) => {
  expect(shareOf(text)).toBe(hundredths);
});
