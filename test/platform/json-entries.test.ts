import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entriesAt, kindAt } from '../../src/platform/json-entries.ts';

/** Reads a value with the entries that are found, down to its leaves. */
function read(bytes: Buffer, start: number, end: number): unknown {
  const kind = kindAt(bytes, start);
  if (kind === 'other') return JSON.parse(bytes.toString('utf8', start, end));
  const entries = [...entriesAt(bytes, start)].filter((entry) => entry !== null);
  const values = entries.map((entry) => [entry.name, read(bytes, entry.start, entry.end)] as const);
  return kind === 'list' ? values.map(([, value]) => value) : Object.fromEntries(values);
}

test.for([undefined, 2])('finds the entries of any JSON text, indented by %s', (indent) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value, null, indent);
      const bytes = Buffer.from(text);
      expect(read(bytes, 0, bytes.length)).toEqual(JSON.parse(text));
    }),
  );
});

test('finds texts with quotes and backslashes', () => {
  const value = { 'a"\\': ['\\', '"', '\\"', '[1,{', ']'], '': {} };
  const bytes = Buffer.from(JSON.stringify(value));
  expect(read(bytes, 0, bytes.length)).toEqual(value);
});

test.for([
  ['within a long entry', [Array.from({ length: 100_000 }, () => 12)]],
  ['between many short entries', Array.from({ length: 100_000 }, () => 12)],
] as const)('pauses %s', ([, value]) => {
  const bytes = Buffer.from(JSON.stringify(value));
  const pauses = [...entriesAt(bytes, 0)].filter((entry) => entry === null);
  expect(pauses.length).toBeGreaterThan(2);
});
