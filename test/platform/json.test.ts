import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { largeIntegers } from '../../src/platform/exact-json.ts';
import { indentJson, parseJson, stringifyJson } from '../../src/platform/json.ts';
import { parseJsonBytes, stringifyJsonBytes } from '../../src/platform/json-bytes.ts';

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

describe('a search for large integers in bytes', () => {
  test('finds an integer of at least sixteen digits at any position, and no safe integer, fraction or text', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.constant({ text: `${LARGE}`, isLarge: true }),
            fc.constant({ text: `-${LARGE}`, isLarge: true }),
            fc.constant({ text: '9007199254740992', isLarge: true }),
            fc
              .constantFrom('9007199254740991', '0.12345678901234567', '12345678901234567e1', '7', 'null')
              .map((text) => ({ text, isLarge: false })),
            fc.string({ maxLength: 40 }).map((text) => ({ text: JSON.stringify(text), isLarge: false })),
            fc.constant({ text: `"id${LARGE}"`, isLarge: false }),
          ),
          { maxLength: 20 },
        ),
        (values) => {
          const text = `[${values.map((value) => value.text).join(',')}]`;
          expect(largeIntegers(Buffer.from(text))).toHaveLength(
            values.filter(({ isLarge }) => isLarge).length,
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('a text of more than half a megabyte', () => {
  const value = {
    note: `[${LARGE},{"a":${LARGE}}]`,
    list: Array.from({ length: 6_000 }, (_, i) => ({
      id: i % 1_000 === 0 ? LARGE : i,
      name: 'x'.repeat(90),
      quoted: ' "\\": [,{',
    })),
    deep: { within: { rows: [[1, [LARGE]], 'é'.repeat(200_000), { __proto__: null, last: true }] } },
    empty: [{}, [], ''],
  };
  const text = stringifyJson(value);

  test('is parsed and written in pieces to the same value', async () => {
    const bytes = Buffer.from(text);
    const parsed = await parseJsonBytes(bytes);
    expect(parsed).toEqual(parseJson(text));
    expect((parsed as typeof value).list[1_000]?.id).toBe(LARGE);
    expect((await stringifyJsonBytes(parsed)).equals(bytes)).toBe(true);
  });

  test('may have spaces and fields with the name of a prototype', async () => {
    const spaced = indentJson(text).replace('"note"', '"__proto__"');
    const parsed = await parseJsonBytes(Buffer.from(` ${spaced}\n`));
    expect(Object.keys(parsed as object)[0]).toBe('__proto__');
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    expect(parsed).toEqual(parseJson(text.replace('"note"', '"__proto__"')));
  });

  test('that is not JSON is refused, wherever it is damaged', async () => {
    const damages = [
      text.slice(0, -1),
      text.replace('[{"id"', '[,{"id"'),
      text.replace('},{"id":1,', '}{"id":1,'),
      text.replace('"deep":', '"deep"'),
      text.replace('"deep":', 'deep:'),
      text.replace('[1,[', '[1,,['),
      `${text},`,
      `${text.slice(0, -1)}]`,
    ];
    for (const damaged of damages)
      await expect(parseJsonBytes(Buffer.from(damaged)), damaged.slice(-20)).rejects.toThrow(SyntaxError);
  });
});

test('texts that are parsed and written at the same time leave other work its turns, also if each is short', async () => {
  const text = Buffer.from(JSON.stringify(Array.from({ length: 10_000 }, (_, i) => 1_000_000_000 + i)));
  const counting = new AbortController();
  let turns = 0;
  const count = () => {
    turns += 1;
    if (!counting.signal.aborted) setImmediate(count);
  };
  setImmediate(count);
  const roundTrip = async () => (await stringifyJsonBytes(await parseJsonBytes(text))).equals(text);
  const same = await Promise.all(Array.from({ length: 100 }, roundTrip));
  counting.abort();
  expect(same).not.toContain(false);
  expect(turns).toBeGreaterThan(2);
});

test('bytes with large integers are parsed to the value of their text, or refused like it', async () => {
  const part = fc.constantFrom(
    ...['[', ']', '{', '}', ',', ':', '"', ' ', '\\', '1', 'é', `${LARGE}`, '"a":'],
    ...['[1,2]', '{"b":3}', 'null'],
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
  await fc.assert(
    fc.asyncProperty(fc.oneof(valid, damaged), async (text) => {
      // The native parser decides what is JSON.
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      const parsing = parseJsonBytes(Buffer.from(text));
      if (!isJson) await expect(parsing).rejects.toThrow(SyntaxError);
      else expect(JSON.parse(stringifyJson(await parsing))).toEqual(JSON.parse(text));
    }),
    { numRuns: 1000 },
  );
});

test('values with long lists are written like short ones, in any place and with any letters', async () => {
  const long = fc
    .record({
      csv: fc.constantFrom(
        Array.from({ length: 5_000 }, (_, i) => i / 2),
        [null, Array.from({ length: 5_000 }, (_, i) => -i), undefined],
        Array.from({ length: 5_000 }, (_, i) => (i === 4_999 ? '\ud800 "€" ' : null)),
      ),
      title: fc.string({ unit: 'binary' }),
      nothing: fc.constant(undefined),
    })
    .map((fields) => ({ ...fields, long: '€'.repeat(6_000) }));
  const some = fc.oneof(long, fc.jsonValue(), fc.constantFrom(undefined, new Date(0)));
  const values = fc.oneof(fc.array(some), fc.dictionary(fc.string(), fc.array(some)), long);
  await fc.assert(
    fc.asyncProperty(values, async (value) => {
      expect((await stringifyJsonBytes(value, '}')).toString()).toBe(`${JSON.stringify(value)}}`);
    }),
    { numRuns: 60 },
  );
});
