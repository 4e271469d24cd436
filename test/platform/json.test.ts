import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasLargeNumber, indentJson, parseJson, stringifyJson } from '../../src/platform/json.ts';
import { words } from '../support/words.ts';

/** Integers that a double cannot hold, up to the ends of 64 bits. */
const big = fc.oneof(
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n }),
  fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
);

describe('integers beyond 2^53 in JSON', () => {
  test.each([
    '9007199254740993',
    '-9007199254740993',
    '9223372036854775807',
    '[9223372036854775807]',
    '{"categoryIds":[1,9223372036854775807],"id":9223372036854775807,"n":2.5,"t":"x"}',
    '{"9223372036854775807":[9007199254740991,9007199254740992]}',
    '{"text":"id: 9223372036854775807, [9223372036854775807"}',
  ])('are unchanged in %s', (text) => {
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  test('may have spaces around them', () => {
    expect(parseJson(' { "id" :\n\t9223372036854775807 } ')).toEqual({ id: 2n ** 63n - 1n });
    expect(parseJson('\n9223372036854775807')).toBe(2n ** 63n - 1n);
  });

  test('are parsed as bigint, and all other numbers as numbers', () => {
    expect(parseJson('{"a":9007199254740992,"b":9007199254740991,"c":-9007199254740993}')).toEqual({
      a: 2n ** 53n,
      b: Number.MAX_SAFE_INTEGER,
      c: -(2n ** 53n) - 1n,
    });
    expect(parseJson('[12345678901234567,0.1234567890123456,1e21,-0.5,1.5E+3]')).toEqual([
      12345678901234567n,
      0.1234567890123456,
      1e21,
      -0.5,
      1500,
    ]);
  });

  test('are unchanged after parsing and writing, in any place', () => {
    const { tree } = fc.letrec((tie) => ({
      leaf: fc.oneof(
        big,
        fc.integer(),
        fc
          .double({ noNaN: true, noDefaultInfinity: true })
          .filter((n) => !Object.is(n, -0) && Math.abs(n) < 2 ** 53),
        fc.string(),
        fc.constant(null),
      ),
      tree: fc.oneof(
        { maxDepth: 4 },
        tie('leaf'),
        fc.array(tie('tree'), { maxLength: 5 }),
        fc.dictionary(
          fc.string().filter((key) => key !== '__proto__'),
          tie('tree'),
          { maxKeys: 5, noNullPrototype: true },
        ),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const text = stringifyJson(value);
        expect(stringifyJson(parseJson(text))).toBe(text);
        expect(parseJson(text)).toEqual(value);
      }),
      { numRuns: 1000 },
    );
  });

  test('do not change how other JSON is parsed', () => {
    fc.assert(
      fc.property(
        fc.json().filter((text) => !/\d{16}/.test(text)),
        (text) => {
          expect(parseJson(text)).toEqual(JSON.parse(text));
          expect(stringifyJson(JSON.parse(text))).toBe(JSON.stringify(JSON.parse(text)));
        },
      ),
      { numRuns: 500 },
    );
  });

  test.each(['', '{', '[1,]', '{"a":12345678901234567', '<html>', '[9223372036854775807', 'nul'])(
    'throws a SyntaxError for the invalid text %s',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );
});

const LARGE = 9_223_372_036_854_775_807n;

test.each([
  ['9223372036854775807', true],
  ['-9007199254740993', true],
  ['9007199254740991', false],
  ['0.12345678901234567', false],
  ['"B1234567890123456"', false],
])('%s is found as a large number at any depth: %s', (value, isFound) => {
  for (const text of [value, `[1, ${value}]`, `{"a": [{"b": ${value}}], "c": null}`])
    expect(hasLargeNumber(JSON.parse(text))).toBe(isFound);
});

test('a text that is nested 100,000 times is parsed', () => {
  const text = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  expect(Array.isArray(parseJson(text))).toBe(true);
});

test('a large text with large integers may have spaces and fields with the name of a prototype', () => {
  const value = {
    note: `[${LARGE},{"a":${LARGE}}]`,
    list: Array.from({ length: 6_000 }, (_, i) => ({ id: i === 1_000 ? LARGE : i, quoted: ' "\\": [,{' })),
    long: 'é'.repeat(2_000_000),
  };
  const text = stringifyJson(value).replace('"note"', '"__proto__"');
  const parsed = parseJson(` ${indentJson(text)}\n`) as typeof value;
  expect(Object.keys(parsed)[0]).toBe('__proto__');
  expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  expect(parsed.list).toEqual(value.list);
  expect(stringifyJson(parsed)).toBe(text);
});

test('a long string without an end is refused', () => {
  const text = `[${LARGE},"${'\\"'.repeat(200_000)}`;
  expect(() => parseJson(text)).toThrow(SyntaxError);
});

/** A value as JSON can write it: without the sign of zero. */
const written = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('texts with large integers are JSON if the native parser says so, and have its value', () => {
  const part = fc.constantFrom(
    ...words('[ ] { } , : "'),
    ' ',
    '\\',
    ...words('1 0 - . e é'),
    `${LARGE}`,
    '"a":',
    '[1,2]',
    '{"b":3}',
    'null',
  );
  const other = fc.json().filter((text) => !/\d{16}/.test(text));
  const valid = fc.letrec((tie) => ({
    value: fc.oneof(fc.constant(`${LARGE}`), fc.constant(`"[ ${LARGE}"`), other, tie('list'), tie('object')),
    list: fc
      .array(tie('value') as fc.Arbitrary<string>, { maxLength: 3 })
      .map((items) => `[ ${items.join(' , ')} ]`),
    object: fc
      .array(tie('value') as fc.Arbitrary<string>, { maxLength: 3 })
      .map((items) => `{ ${items.map((item, i) => `"${i}\\"" : ${item}`).join(',')} }`),
  })).value as fc.Arbitrary<string>;
  const damaged = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.oneof(valid, damaged), (text) => {
      // The native parser decides what is JSON.
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      if (!isJson) expect(() => parseJson(text)).toThrow(SyntaxError);
      else expect(JSON.parse(stringifyJson(parseJson(text)))).toEqual(written(JSON.parse(text)));
    }),
    { numRuns: 1000, examples: [['-0'], [`[${LARGE},-0]`]] },
  );
});
