import { expect, test } from 'vitest';
import { changesBetween } from '../../src/batches/changes.ts';

const columns = ['country', 'asin', 'rank'];
const row = (asin: string | null, rank: number) => ({ country: 'us', asin, rank });
const between = (before: object[], after: object[]) =>
  [...changesBetween(columns, before as never, after as never)].map(
    ({ key, column, before: was, after: is }) => [key, column, was, is],
  );

test('compares rows by the first column whose values all differ, in any order', () => {
  expect(between([row('A', 1), row('B', 2)], [row('B', 3), row('A', 1)])).toEqual([['B', 'rank', 2, 3]]);
});

test('a row that is new or gone has a change for each value', () => {
  expect(between([row('A', 1), row('B', 2)], [row('A', 1), row('C', 2)])).toEqual([
    ['B', 'country', 'us', null],
    ['B', 'asin', 'B', null],
    ['B', 'rank', 2, null],
    ['C', 'country', null, 'us'],
    ['C', 'asin', null, 'C'],
    ['C', 'rank', null, 2],
  ]);
});

test('the only row has its key when it appears, changes or disappears', () => {
  const named = (before: object[], after: object[]) => new Set(between(before, after).map(([key]) => key));
  expect(named([], [row('A', 1)])).toEqual(new Set(['A']));
  expect(named([row('A', 1)], [row('A', 2)])).toEqual(new Set(['A']));
  expect(named([row('A', 1)], [])).toEqual(new Set(['A']));
});

test('rows without a key are compared by their places', () => {
  expect(between([row('A', 1), row('A', 2)], [row('A', 1), row('A', 5)])).toEqual([['2', 'rank', 2, 5]]);
});

test('equal rows have no changes', () => {
  expect(between([row('A', 1)], [row('A', 1)])).toEqual([]);
  expect(between([], [])).toEqual([]);
});
