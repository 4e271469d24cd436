import { expect, test } from 'vitest';
import { hashKey, isWellFormed, keyPrefix, newKey } from '../../src/accounts/authentication.ts';

test('creates unique keys of km_ and 32 uniformly distributed letters or digits', () => {
  const keys = Array.from({ length: 20_000 }, newKey);
  expect(keys.filter((key) => !isWellFormed(key) || key.length !== 35)).toEqual([]);
  expect(new Set(keys).size).toBe(keys.length);

  const counts = new Map<string, number>();
  for (const key of keys)
    for (const letter of key.slice(3)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  const expected = (keys.length * 32) / 62;
  // Ten standard deviations. A byte modulo 62 would make eight letters a fifth more likely.
  const unlikely = [...counts].filter(([, count]) => Math.abs(count / expected - 1) > 0.1);
  expect([counts.size, unlikely]).toEqual([62, []]);
});

test('stores nothing that reveals a key', () => {
  const key = newKey();
  expect(hashKey(key).toString('latin1')).not.toContain(key.slice(3, 10));
  expect(hashKey(key)).toHaveLength(32);
  expect(keyPrefix(key)).toBe(key.slice(0, 7));
});
