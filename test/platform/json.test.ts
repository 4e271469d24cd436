import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson, stringifyJson } from '../../src/platform/json.ts';

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
