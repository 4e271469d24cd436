import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { outlineOf } from '../../src/results/outline.ts';

const outlined = (data: unknown) => JSON.parse(outlineOf(data));

describe('an outline', () => {
  test('keeps short values, and cuts lists to their first items and the number of the others', () => {
    const data = { country: 'us', count: 500, asinList: Array.from({ length: 500 }, (_, i) => `A${i}`) };
    expect(outlined(data)).toEqual({
      country: 'us',
      count: 500,
      asinList: ['A0', 'A1', 'A2', '... 497 more of 500'],
    });
  });

  test('keeps the pagination', () => {
    const _pagination = { page: 0, perPage: 1000, total: 5000, totalPages: 5 };
    expect(outlined({ rows: [1, 2, 3, 4], _pagination })).toEqual({
      rows: [1, 2, 3, '... 1 more of 4'],
      _pagination,
    });
  });

  test('cuts long texts, and objects with many fields', () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`field${i}`, i]));
    const { text, many: shown } = outlined({ text: 'x'.repeat(1_000), many });
    expect(text).toHaveLength(123);
    expect(Object.keys(shown)).toHaveLength(31);
    expect(shown['...']).toBe('20 more fields');
  });

  test('never splits a character', () => {
    const { text } = outlined({ text: `${'x'.repeat(119)}😀${'x'.repeat(100)}` });
    expect(text).toBe(`${'x'.repeat(119)}...`);
  });

  test('keeps all digits of ids beyond 2^53', () => {
    expect(outlineOf({ catId: 9_223_372_036_854_775_807n })).toBe('{"catId":9223372036854775807}');
  });

  test('is JSON of at most 4,000 characters for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const data = { value, list: Array.from({ length: 300 }, () => value) };
        const text = outlineOf(data);
        expect(text.length).toBeLessThanOrEqual(4_000);
        expect(() => JSON.parse(text)).not.toThrow();
      }),
      { numRuns: 200 },
    );
  });

  test('states the number of records even if one of them is large', () => {
    const record = () =>
      Object.fromEntries(
        Array.from({ length: 200 }, (_, i) => [
          `field${i}`,
          Array.from({ length: 40 }, () => 'y'.repeat(300)),
        ]),
      );
    const text = outlineOf({ products: Array.from({ length: 7 }, record) });
    expect(text.length).toBeLessThanOrEqual(4_000);
    expect(text).toContain('more of 7');
  });
});
