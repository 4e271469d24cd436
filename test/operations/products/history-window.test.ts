import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cutSeries,
  fromKeepaMinutes,
  lastDays,
  seenWithin,
} from '../../../src/operations/products/history.ts';
import { modelCut, seriesOf, windows } from '../../support/history.ts';

const at = fromKeepaMinutes;

describe('the part of a series that a window shows', () => {
  const pairs = [100, 1, 200, 2, 300, 3, 400, 4];

  test.each([
    ['from before the first point', { startMs: at(50) }, [100, 1, 200, 2, 300, 3, 400, 4]],
    ['from between two points', { startMs: at(250) }, [200, 2, 300, 3, 400, 4]],
    ['from a point on', { startMs: at(300) }, [300, 3, 400, 4]],
    ['from a moment before a point', { startMs: at(300) - 1 }, [200, 2, 300, 3, 400, 4]],
    ['from after the last point', { startMs: at(900) }, [400, 4]],
    ['up to a point', { startMs: at(50), endMs: at(200) }, [100, 1, 200, 2]],
    ['up to a moment before a point', { startMs: at(50), endMs: at(200) - 1 }, [100, 1]],
    ['between two points', { startMs: at(210), endMs: at(290) }, [200, 2]],
    ['of a single moment', { startMs: at(200), endMs: at(200) }, [200, 2]],
    ['that ends before the first point', { startMs: at(10), endMs: at(50) }, []],
  ])('%s', (_, window, expected) => {
    expect(cutSeries(pairs, 2, window)).toEqual(expected);
  });

  test('is empty for an empty series', () => {
    expect(cutSeries([], 2, { startMs: at(0) })).toEqual([]);
  });

  test('keeps points of three and four values together', () => {
    expect(cutSeries([100, 1, 0, 200, 2, 9, 300, -1, -1], 3, { startMs: at(250) })).toEqual([
      200, 2, 9, 300, -1, -1,
    ]);
    const texts = ['100', 'S1', '2', '1', '200', '', '', '', '300', 'S2', '5', '0'];
    expect(cutSeries(texts, 4, { startMs: at(200), endMs: at(299) })).toEqual(['200', '', '', '']);
  });

  test('compares times as numbers if they are texts of different length', () => {
    expect(cutSeries(['9', 'S1', '10', 'S2', '100', '-1'], 2, { startMs: at(50) })).toEqual([
      '10',
      'S2',
      '100',
      '-1',
    ]);
  });

  test('leaves out an incomplete point at the end', () => {
    expect(cutSeries([100, 1, 200], 2, { startMs: at(0) })).toEqual([100, 1]);
  });

  test.each([2, 3, 4])(
    'has the same points as a check of every point finds, for points of %i values',
    (width) => {
      fc.assert(
        fc.property(seriesOf(width), windows, fc.boolean(), (numbers, window, asTexts) => {
          const series: (number | string)[] = asTexts ? numbers.map(String) : numbers;
          expect(cutSeries(series, width, window)).toEqual(modelCut(series, width, window));
        }),
        { numRuns: 500 },
      );
    },
  );

  test('is unchanged if it is cut again', () => {
    fc.assert(
      fc.property(seriesOf(2), windows, (series, window) => {
        const once = cutSeries(series, 2, window);
        expect(cutSeries(once, 2, window)).toEqual(once);
      }),
    );
  });
});

test('the last days have 24 hours each and no end', () => {
  const now = Date.parse('2026-03-29T12:00:00Z');
  expect(lastDays(1, now)).toEqual({ startMs: Date.parse('2026-03-28T12:00:00Z') });
  expect(lastDays(90, now)).toEqual({ startMs: Date.parse('2025-12-29T12:00:00Z') });
});

test('an offer that was last seen in the first minute of a window is inside it', () => {
  expect(seenWithin(500, { startMs: at(500) + 59_999 })).toBe(true);
  expect(seenWithin(500, { startMs: at(501) })).toBe(false);
  expect(seenWithin(900, { startMs: at(501) })).toBe(true);
});
