import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fingerprint } from '../../src/platform/fingerprint.ts';

test('a fingerprint is 128 bits in hex', () => {
  expect(fingerprint({})).toMatch(/^[0-9a-f]{32}$/);
});

test('a fingerprint does not depend on the order of keys, at any depth', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(fingerprint(reordered(value))).toBe(fingerprint(value));
    }),
  );
});

test('a fingerprint does depend on the order of lists, on kinds and on where the parts begin', () => {
  const values = [
    [1, 2],
    [2, 1],
    ['1', 2],
    [[1], 2],
    [[1, 2]],
    [{ a: 1 }],
    [{ a: '1' }],
    [{ a: null }],
    [{ b: 1 }],
  ];
  expect(new Set(values.map((parts) => fingerprint(...parts))).size).toBe(values.length);
  expect(fingerprint('ab', 'c')).not.toBe(fingerprint('a', 'bc'));
});

test('a field that is undefined is no field', () => {
  expect(fingerprint({ a: 1, b: undefined })).toBe(fingerprint({ a: 1 }));
});

test('integers beyond 2^53 are told apart', () => {
  expect(fingerprint(2n ** 53n)).not.toBe(fingerprint(2n ** 53n + 1n));
});

function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, item]) => [key, reordered(item)]));
}
