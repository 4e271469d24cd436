import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  normaliseTerm,
  tokensOf,
  tokensOfUnbroken,
  wordToken,
} from '../../../src/operations/brand-analytics/keywords.ts';

test('a term has the token of each of its words, and of any part of text without spaces', () => {
  const text = fc.array(fc.constantFrom(...Array.from('猫砂犬ベッド手机壳ー')), {
    minLength: 1,
    maxLength: 8,
  });
  const word = fc.stringMatching(/^[a-zäéß0-9]{1,8}$/);
  fc.assert(
    fc.property(text, word, fc.nat(7), fc.nat(7), (characters, latin, start, length) => {
      const term = `${characters.join('')} ${latin}`;
      const from = start % characters.length;
      const part = characters.slice(from, from + 1 + (length % (characters.length - from))).join('');
      const tokens = tokensOf(term, 'jp');
      expect(tokens).toEqual(expect.arrayContaining(tokensOfUnbroken(part)));
      expect(tokens).toContain(wordToken(latin, 'jp'));
    }),
    { numRuns: 200 },
  );
});

test('tokens are negative, and labels and other tags are not', () => {
  expect(Math.max(...tokensOf('a 猫砂 dog', 'us'))).toBeLessThan(0);
});

test.each([
  ['  Red   Shoes\t', 'red shoes'],
  ['CAFE\u0301', 'café'],
  ['a\u0000b', 'a b'],
  ['plain', 'plain'],
  [' \u3000 ', ''],
])('normalises %j to the same term as %j', (sent, kept) => {
  expect(normaliseTerm(sent)).toBe(kept);
  expect(normaliseTerm(kept)).toBe(kept);
});
