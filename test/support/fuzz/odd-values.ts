import fc from 'fast-check';
import { words } from '../words.ts';

/** A value that is written into JSON as it stands, valid or not. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export const ODD_TEXTS = [
  '',
  ' ',
  ...words(`
    , ,,, 0 -1 -0 1e9 1e999 0x1 NaN Infinity null undefined true 9007199254740993 99999999999999999999
    1.7976931348623159e308 4294967296 2147483648
  `),
  '\u0000',
  'a\u0000b',
  '\u0007',
  '\ud800',
  '\udfff',
  '\u202e',
  '\ufeff',
  '\uffff',
  'İ',
  'ß',
  '💥',
  'e\u0301',
  '\u2028',
  "'; drop table calls; --",
  ...words(`
    ../../etc/passwd % %00 %c0%ae <script> {{7}} __proto__ us DE 12 full AVAILABLE #ff8800 B0C3CDEF01
    b0c3cdef01 2026-02-30 2026-03-11 1970-01-01T00:00:00Z +275760-09-13 http://127.0.0.1:9/hook
    http://[::1]:9/ file:///etc/passwd 00000000-0000-7000-8000-000000000000 Europe/Berlin
  `),
  '0 8 * * 1',
  '* * * * *',
  '((((((((((a+)+)+)+)+',
] as const;

const ODD_NAMES = [
  ...words(`
    domain domainId country asin asins stats update offers days page perPage selection sort keyword
    wait async dryRun maxUnits webhook key limit cursor __proto__ constructor prototype toString
    hasOwnProperty length
  `),
  '',
  ' ',
  '0',
  '$where',
] as const;

/** Texts of any characters, short. */
const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 30 }), fc.string({ maxLength: 30 }));

const longText = fc
  .tuple(fc.constantFrom('a', '💥', '\u0000', '9', '[', '%', 'İ'), fc.constantFrom(100, 1_001, 5_000, 30_000))
  .map(([sign, length]) => sign.repeat(length));

const depth = fc.constantFrom(3, 19, 25, 500, 5_000);

/** Values that only JSON can carry. */
const jsonTexts = fc.oneof(
  depth.map((levels) => `${'['.repeat(levels)}${']'.repeat(levels)}`),
  depth.map((levels) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`),
  fc.constantFrom(17, 400, 20_000, 60_000).map((digits) => '9'.repeat(digits)),
  fc
    .constantFrom(10, 999, 5_000)
    .map((length) => `[${Array.from({ length }, (_, i) => `"x${i}"`).join(',')}]`),
  fc
    .constantFrom(10, 990, 5_000)
    .map((length) => `{${Array.from({ length }, (_, i) => `"current_${i}":${i}`).join(',')}}`),
  fc.constantFrom(...words('1e999 -1e999 -0 0.1 1E400 01 .5 NaN'), "'x'", '"\\ud800"', '"\\u0000"', '//'),
);

export const oddName = fc.oneof(fc.constantFrom(...ODD_NAMES), fc.constantFrom(...ODD_TEXTS), anyText);

/** Arbitrary values for any parameter. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<unknown>(...ODD_TEXTS) },
  { weight: 2, arbitrary: anyText },
  { weight: 1, arbitrary: longText },
  { weight: 2, arbitrary: fc.integer() },
  { weight: 1, arbitrary: fc.double() },
  { weight: 1, arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], [null], { a: null }) },
  { weight: 2, arbitrary: jsonTexts.map((text) => new JsonText(text)) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

/** Parameters in the order in which they are sent; a name may come twice. */
export type Fields = readonly (readonly [name: string, value: unknown])[];

type Change = (fields: Fields) => Fields;

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.nat(), oddValue)
      .map(([at, value]): Change => replaced(at, ([name]) => [[name, value]])),
  },
  { weight: 2, arbitrary: fc.nat().map((at): Change => replaced(at, () => [])) },
  { weight: 1, arbitrary: fc.nat().map((at): Change => replaced(at, (field) => [field, field])) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.nat(), oddValue)
      .map(([at, value]): Change => replaced(at, (field) => [field, [field[0], value]])),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.nat(), oddName)
      .map(([at, name]): Change => replaced(at, ([, value]) => [[name, value]])),
  },
  {
    weight: 1,
    arbitrary: fc.nat().map((at): Change => replaced(at, ([name, value]) => [[name.toUpperCase(), value]])),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.nat(),
        fc.constantFrom<(value: unknown) => unknown>(
          (v) => [v],
          (v) => ({ v }),
          (v) => [v, v],
          textOf,
        ),
      )
      .map(([at, wrap]): Change => replaced(at, ([name, value]) => [[name, wrap(value)]])),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(oddName, oddValue).map(
      ([name, value]): Change =>
        (fields) => [...fields, [name, value]],
    ),
  },
);

/** Up to four changes to parameters, often none. */
export const changes: fc.Arbitrary<Change> = fc
  .array(change, { maxLength: 4 })
  .map((all) => (fields: Fields) => all.reduce((changed, one) => one(changed), fields));

function replaced(at: number, by: (field: Fields[number]) => Fields): Change {
  return (fields) => fields.flatMap((field, i) => (i === at % fields.length ? by(field) : [field]));
}

/** Parameters as JSON with repeated names, or as texts that are not JSON. */
export function writeJson(fields: Fields): string {
  return `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`).join(',')}}`;
}

export function jsonOf(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  return JSON.stringify(value) ?? 'null';
}

/** The server does not read longer addresses. */
const LONGEST_QUERY = 12_000;

/** A query string of parameters. */
export function writeQuery(fields: Fields): string {
  return fields
    .map(([name, value]) => `${encoded(name)}=${encoded(textOf(value))}`)
    .join('&')
    .slice(0, LONGEST_QUERY);
}

export function encoded(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString());
}

/** Encodes a value for a query or a path. */
export function textOf(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join(',');
  return typeof value === 'string' ? value : jsonOf(value);
}
