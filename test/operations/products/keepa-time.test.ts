import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromKeepaMinutes, toKeepaMinutes } from '../../../src/operations/products/history.ts';

test.each([
  [0, '2011-01-01T00:00:00.000Z'],
  [1, '2011-01-01T00:01:00.000Z'],
  [-1, '2010-12-31T23:59:00.000Z'],
  [7_000_000, '2024-04-23T02:40:00.000Z'],
])('converts the time %i to %s', (minutes, iso) => {
  expect(new Date(fromKeepaMinutes(minutes)).toISOString()).toBe(iso);
  expect(toKeepaMinutes(Date.parse(iso))).toBe(minutes);
});

test('converts a moment to the minute that contains it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -5_000_000, max: 20_000_000 }),
      fc.integer({ min: 0, max: 59_999 }),
      (minutes, ms) => {
        expect(fromKeepaMinutes(minutes)).toBe((minutes + 21_564_000) * 60_000);
        expect(toKeepaMinutes(fromKeepaMinutes(minutes) + ms)).toBe(minutes);
      },
    ),
  );
});
