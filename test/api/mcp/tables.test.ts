import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { compactTables } from '../../../src/api/mcp/tables.ts';

const tokensOf = (value: unknown) => encode(JSON.stringify(value)).length;
const record = (n: number) => ({ wordId: n, keyword: `term ${n}`, rank: n, rankChange: null });

test('a list of records becomes one header and the values of each record, in about half of the tokens', () => {
  const rows = Array.from({ length: 20 }, (_, n) => record(n));
  const compact = compactTables({ country: 'us', rows });
  expect(compact).toEqual({
    country: 'us',
    rows: {
      columns: ['wordId', 'keyword', 'rank', 'rankChange'],
      rows: rows.map((row) => Object.values(row)),
    },
  });
  expect(tokensOf(compact)).toBeLessThan(0.6 * tokensOf({ country: 'us', rows }));
});

test('objects within records become dotted columns, and lists of records rows with their own columns', () => {
  const rows = Array.from({ length: 4 }, (_, n) => ({
    asin: `B00000000${n}`,
    statistics: { current: { new: n, rating: 4.5 } },
    offers: Array.from({ length: n }, (_, i) => ({ sellerId: `A${i}`, isPrime: true })),
  }));
  expect(compactTables(rows)).toEqual({
    columns: [
      'asin',
      'statistics.current.new',
      'statistics.current.rating',
      { offers: ['sellerId', 'isPrime'] },
    ],
    rows: [
      ['B000000000', 0, 4.5, []],
      ['B000000001', 1, 4.5, [['A0', true]]],
      [
        'B000000002',
        2,
        4.5,
        [
          ['A0', true],
          ['A1', true],
        ],
      ],
      [
        'B000000003',
        3,
        4.5,
        [
          ['A0', true],
          ['A1', true],
          ['A2', true],
        ],
      ],
    ],
  });
});

test('a value that a record lacks is null', () => {
  const rows = Array.from({ length: 5 }, (_, n) =>
    n === 4 ? { keyword: 'four' } : { wordId: n, keyword: 'x' },
  );
  expect(compactTables(rows)).toMatchObject({
    columns: ['wordId', 'keyword'],
    rows: { 3: [3, 'x'], 4: [null, 'four'] },
  });
});

test.each([
  ['few records', [record(1), record(2), record(3)]],
  [
    'records with different fields',
    Array.from({ length: 6 }, (_, n) => ({ [`field${n}`]: n, [`other${n}`]: n })),
  ],
  ['values', [1, 2, 3, 4, 5]],
  [
    'points',
    [
      ['2026-01-01', 1],
      ['2026-01-02', 2],
      ['2026-01-03', 3],
      ['2026-01-04', 4],
    ],
  ],
  ['a table', { columns: ['date', 'kettle'], rows: [['2026-01-01', 1]] }],
  ['records without fields', [{}, {}, {}, {}]],
  ['nothing', null],
])('%s stay as they are', (_name, data) => {
  expect(compactTables(data)).toEqual(data);
});

test('ids beyond 2^53 keep their digits', () => {
  const rows = Array.from({ length: 4 }, () => ({ catId: 9_223_372_036_854_775_807n, name: 'Blank' }));
  expect(compactTables(rows)).toMatchObject({ rows: Array(4).fill([9_223_372_036_854_775_807n, 'Blank']) });
});
