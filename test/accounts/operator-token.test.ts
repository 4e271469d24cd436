import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTokenCheck } from '../../src/accounts/operator-token.ts';

const TOKEN = 'correct:horse-battery/staple';
const isGood = createTokenCheck(TOKEN);
const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

test.each([
  `Bearer ${TOKEN}`,
  `bearer  ${TOKEN}`,
  basic('', TOKEN),
  basic('anybody', TOKEN),
  basic('jürgen', TOKEN),
])('accepts the token: %s', (authorization) => {
  expect(isGood(authorization)).toBe(true);
});

describe('refuses other tokens:', () => {
  test.each([
    undefined,
    '',
    TOKEN,
    'Bearer',
    'Bearer ',
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(0, -1)}`,
    `Bearer ${TOKEN} ${TOKEN}`,
    `Bearer ${TOKEN}, Bearer ${TOKEN}`,
    `Digest ${TOKEN}`,
    basic(TOKEN, ''),
    basic('', `${TOKEN} `),
    `Basic ${TOKEN}`,
  ])('%s', (authorization) => {
    expect(isGood(authorization)).toBe(false);
  });

  test('any text except the token', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(text !== TOKEN);
        expect(isGood(text) || isGood(`Bearer ${text}`) || isGood(basic('x', text))).toBe(false);
      }),
    );
  });
});
