import { expect, test } from 'vitest';
import { shownValue } from '../../../src/operations/params/scalars.ts';

test.each([
  ['abc', '"abc"'],
  ['', '""'],
  ['a\u0000"b', '"a\\u0000\\"b"'],
  [5000, '5000'],
  [1.5, '1.5'],
  [2n ** 70n, '1180591620717411303424'],
  [true, 'true'],
  [undefined, 'nothing'],
  [null, 'null'],
  [[1, 2], 'a list'],
  [{ a: 1 }, 'an object'],
])('shows %o as %s', (value, shown) => {
  expect(shownValue(value)).toBe(shown);
});

test.each(['x'.repeat(10_000), 10n ** 10_000n, `${'x'.repeat(39)}\u{1f600}`])(
  'cuts a long value to 40 characters',
  (value) => {
    const shown = shownValue(value);
    expect(shown.length).toBeLessThan(60);
    expect(shown).toMatch(/\.{3}"?$/);
  },
);
