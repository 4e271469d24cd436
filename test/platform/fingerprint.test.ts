import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fingerprint, fingerprintOf } from '../../src/platform/fingerprint.ts';

test('a fingerprint is 128 bits in hexadecimal', () => {
  expect(fingerprint({})).toMatch(/^[0-9a-f]{32}$/);
});

test.each([null, 0, 24, 'abc'])('parts that are already JSON have the same fingerprint, with %j', (part) => {
  expect(fingerprintOf(`["charge","0123",${JSON.stringify(part)}]`)).toBe(
    fingerprint('charge', '0123', part),
  );
});

test('a fingerprint does not depend on the order of keys, at any depth', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(fingerprint(reordered(value))).toBe(fingerprint(value));
    }),
  );
});

test('a fingerprint depends on the order of lists, on types and on the boundaries of its parts', () => {
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

test('ignores undefined fields', () => {
  expect(fingerprint({ a: 1, b: undefined })).toBe(fingerprint({ a: 1 }));
});

test('distinguishes integers beyond 2^53', () => {
  expect(fingerprint(2n ** 53n)).not.toBe(fingerprint(2n ** 53n + 1n));
});

function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, item]) => [key, reordered(item)]));
}
