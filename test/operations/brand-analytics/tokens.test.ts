import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normaliseTerm } from '../../../src/operations/brand-analytics/keywords/term.ts';
import { keywordQuery, tokensOf } from '../../../src/operations/brand-analytics/keywords/tokens.ts';

const finds = (keyword: string, term: string, site: 'us' | 'de' | 'jp') => {
  const query = keywordQuery(keyword, site);
  const tokens = new Set(tokensOf(term, site));
  return query.tokens.length > 0 && query.tokens.every((one) => tokens.has(one)) && query.matches(term);
};

test.each([
  ['shoe', 'running shoes for men', 'us', true],
  ['men shoes', 'running shoes for men', 'us', true],
  ['sho', 'running shoes for men', 'us', false],
  ['schuhe', 'rote schuhe', 'de', true],
  ['shoe', 'running shoes', 'de', false],
  ['猫', '猫砂 大容量', 'jp', true],
  ['猫砂', '猫砂 大容量', 'jp', true],
  ['大容', '猫砂 大容量', 'jp', true],
  ['砂猫', '猫砂 大容量', 'jp', false],
  ['iphone ケース', '黒いケース iphone15 iphone', 'jp', true],
  // The text contains both pairs of characters, but not next to each other.
  ['手机壳', '机壳 手机', 'us', false],
  ['?!', 'anything', 'us', false],
] as const)('finds %s in "%s" on %s: %s', (keyword, term, site, expected) => {
  expect(finds(keyword, term, site)).toBe(expected);
});

test('a term is found by each of its words, and by any part of text without spaces', () => {
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
      expect(finds(part, term, 'jp')).toBe(true);
      expect(finds(latin, term, 'jp')).toBe(true);
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
