import { expect, test } from 'vitest';
import { createSecretBox } from '../../src/platform/secret-box.ts';

const [OLD, NEW] = ['an old key of thirty-two characters', 'a new key of thirty-two characters!'];
const SECRET = 'whsec_abc';

test('opens its own ciphertext for the same purpose only, and encrypts the same text differently each time', () => {
  const box = createSecretBox([OLD]);
  const [first, second] = [box.seal(SECRET, 'account 1'), box.seal(SECRET, 'account 1')];
  expect(first).not.toBe(second);
  expect(first).not.toContain(SECRET);
  expect(box.open(first, 'account 1')).toBe(SECRET);
  expect(box.open(first, 'account 2')).toBeNull();
});

test('opens ciphertext of an earlier key, and encrypts with the first key', () => {
  const sealed = createSecretBox([OLD]).seal(SECRET, 'x');
  const rotated = createSecretBox([NEW, OLD]);
  expect(rotated.open(sealed, 'x')).toBe(SECRET);
  expect(createSecretBox([NEW]).open(rotated.seal(SECRET, 'x'), 'x')).toBe(SECRET);
  expect(createSecretBox([NEW]).open(sealed, 'x')).toBeNull();
  expect(createSecretBox().open(sealed, 'x')).toBeNull();
});

test('stores plain text without a key, and opens plain text with a key', () => {
  expect(createSecretBox().seal(SECRET, 'x')).toBe(SECRET);
  expect(createSecretBox([NEW]).open(SECRET, 'x')).toBe(SECRET);
});

test('refuses changed ciphertext', () => {
  const box = createSecretBox([OLD]);
  const sealed = box.seal(SECRET, 'x');
  const bytes = Buffer.from(sealed.slice((box.prefix ?? '').length), 'base64');
  for (let i = 0; i < bytes.length; i += 1) {
    const changed = Buffer.from(bytes);
    changed[i] = (changed[i] ?? 0) ^ 1;
    expect(box.open(`${box.prefix}${changed.toString('base64')}`, 'x')).toBeNull();
  }
  expect(box.open(box.prefix ?? '', 'x')).toBeNull();
});
