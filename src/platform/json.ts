import { randomUUID } from 'node:crypto';
import { parsing } from './exact-json.ts';

/**
 * Parses JSON and keeps integers beyond 2^53 as bigint, which `stringifyJson` writes as digits again. Upstream sends such
 * ids in normal answers (the blank category is 2^63-1). Texts without a number of 16 digits use the native parser.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  if (!hasLargeInteger(text)) return JSON.parse(text);
  const parser = parsing(Buffer.from(text));
  for (;;) {
    const { done, value } = parser.next();
    if (done) return value;
  }
}

/** Returns whether a JSON text may contain an integer that a number cannot represent. */
export function hasLargeInteger(text: string): boolean {
  return /(?:^|[:,[])\s*-?\d{16}/.test(text);
}

/** The reverse of `parseJson`. */
export function stringifyJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  try {
    return JSON.stringify(value);
  } catch (error) {
    // The native serialiser rejects bigint. Anything else that it rejects is a bug and fails again below.
    if (!(error instanceof TypeError) || typeof value !== 'object' || value === null) throw error;
    if (Array.isArray(value)) return `[${value.map((item) => stringifyJson(item) ?? 'null').join(',')}]`;
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${stringifyJson(field)}`).join(',')}}`;
  }
}

/** Formats a JSON text with one field on each line. Integers keep their digits. @throws SyntaxError */
export function indentJson(text: string): string {
  const mark = randomUUID();
  const marked = (_: string, value: unknown) => (typeof value === 'bigint' ? `${mark}${value}` : value);
  return JSON.stringify(parseJson(text), marked, 2).replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1');
}
