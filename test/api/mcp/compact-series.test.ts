import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compactSeries, seriesLimitsOf } from '../../../src/api/mcp/compact-series.ts';
import { takePart } from '../../../src/api/mcp/parts.ts';
import { SoukError } from '../../../src/platform/errors.ts';

const days = (count: number) =>
  Array.from({ length: count }, (_, i) => new Date(Date.UTC(2026, 0, 1 + i)).toISOString());

describe('a history', () => {
  const history = { time: days(4), value: [19.99, 19.99, null, 18] };

  const changes = [
    ['2026-01-01', 19.99],
    ['2026-01-03', null],
    ['2026-01-04', 18],
  ];

  test.each([
    ['without limits has its changes', {}, changes],
    ['starts with the value that applies on its first day', { from: '2026-01-02' }, changes],
    ['starts on the day of a change', { from: '2026-01-04' }, changes.slice(1)],
    ['ends with the last day of the period', { to: '2026-01-03' }, changes.slice(0, 2)],
    ['has its last value if the period starts later', { from: '2026-02-01' }, [['2026-01-04', 18]]],
    ['is empty if the period ends before it', { to: '2025-12-31' }, []],
  ])('%s', async (_, limits, points) => {
    expect(await compactSeries({ products: [{ history: { new: history } }] }, limits)).toEqual({
      products: [{ history: { new: points } }],
    });
  });

  test('of several columns starts with the names of those that have values', async () => {
    const time = days(2);
    expect(await compactSeries({ time, value: [20, 21], shipping: [5, 0] }, {})).toEqual([
      ['time', 'value', 'shipping'],
      ['2026-01-01', 20, 5],
      ['2026-01-02', 21, 0],
    ]);
    expect(await compactSeries({ time, value: [20, 21], shipping: [0, null] }, {})).toEqual([
      ['2026-01-01', 20],
      ['2026-01-02', 21],
    ]);
  });

  test('keeps its first, last, lowest and highest point within any number of points', async () => {
    const known = fc.integer({ min: 0, max: 1_000 });
    const values = fc.array(fc.option(known, { freq: 3 }), { minLength: 1, maxLength: 300 });
    await fc.assert(
      fc.asyncProperty(values, fc.integer({ min: 4, max: 50 }), async (value, points) => {
        const shown = (await compactSeries({ time: days(value.length), value }, { points })) as [
          string,
          number | null,
        ][];
        const shownValues = shown.map(([, one]) => one);
        const withData = (all: readonly (number | null)[]) => all.filter((one) => one !== null);
        expect(shown.length).toBeLessThanOrEqual(points);
        expect(shownValues[0]).toBe(value[0]);
        expect(shownValues.at(-1)).toBe(value.at(-1));
        expect(Math.min(...withData(shownValues))).toBe(Math.min(...withData(value)));
        expect(Math.max(...withData(shownValues))).toBe(Math.max(...withData(value)));
        expect(shown.map(([day]) => day)).toEqual(shown.map(([day]) => day).sort());
      }),
    );
  });
});

test('values without a list of times stay as they are', async () => {
  const data = {
    time: 'now',
    min: { time: '2026-01-01T00:00:00Z', value: 1 },
    list: [{ time: [1], value: [] }],
    none: null,
  };
  expect(await compactSeries(data, {})).toEqual(data);
});

test.each([
  { from: 'yesterday' },
  { to: '2026-02-30' },
  { to: '2026-02-01', from: '2026-03-01' },
  { points: 3 },
  { points: 'many' },
])('refuses %j by name', (args) => {
  expect(() => seriesLimitsOf(args)).toThrow(SoukError);
  expect(() => seriesLimitsOf(args)).toThrow(Object.keys(args)[0]);
});

test('a part at the path of a history is a list of points, and a column stays a list of values', async () => {
  const data = { products: [{ history: { new: { time: days(9), value: [1, 2, 3, 4, 5, 6, 7, 8, 9] } } }] };
  const part = (path: string, offset = 0) =>
    takePart(
      Buffer.from(JSON.stringify({ data })),
      { path, offset, fields: [], series: { to: '2026-01-08', points: 4 }, records: null },
      1_000,
    );
  expect(await part('products.0.history.new', 1)).toEqual({
    path: 'products.0.history.new',
    total: 4,
    offset: 1,
    next: null,
    items: [
      ['2026-01-02', 2],
      ['2026-01-07', 7],
      ['2026-01-08', 8],
    ],
  });
  expect(await part('products.0.history.new.value')).toMatchObject({
    total: 9,
    items: [1, 2, 3, 4, 5, 6, 7, 8, 9],
  });
});
