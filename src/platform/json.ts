import { randomUUID } from 'node:crypto';

/** Longest integer that is parsed: converting digits takes more than linear time. */
const LONGEST_INTEGER_DIGITS = 1_000;

/**
 * A string of a JSON text, which is skipped, or an integer of 16 digits or more. A string without an end matches, too: trying
 * again at each of its quotation marks would take more than linear time.
 */
const STRING_OR_LARGE_INTEGER = /"[^"\\]*(?:\\.?[^"\\]*)*"?|(?<![\w.+-])-?[1-9]\d{15,}(?=\s*(?:[,\]}]|$))/gs;

/** Begins the strings that stand for large integers. Random, so that no text can contain it. */
const MARK = randomUUID();

/**
 * Parses JSON and keeps integers beyond 2^53 as bigint, which `stringifyJson` writes as digits again. Upstream sends such
 * ids in normal answers (the blank category is 2^63-1). Texts with them are parsed again, with them as marked strings: a
 * reviver would take 25 times as long as parsing, which blocks the event loop for an ordinary list of deals.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!hasLargeNumber(value)) return value;
  const marked = text.replace(STRING_OR_LARGE_INTEGER, (token) =>
    token.startsWith('"') ? token : `"${MARK}${token}"`,
  );
  return withIntegers(JSON.parse(marked));
}

/** Replaces the marked strings in a parsed value by their integers. */
function withIntegers(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(MARK) ? integerOf(value.slice(MARK.length)) : value;
  if (typeof value !== 'object' || value === null) return value;
  const fields = value as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    const field = fields[name];
    if (typeof field === 'string' || typeof field === 'object') fields[name] = withIntegers(field);
  }
  return value;
}

function integerOf(digits: string): number | bigint {
  if (digits.length > LONGEST_INTEGER_DIGITS)
    throw new SyntaxError(`A number has more than ${LONGEST_INTEGER_DIGITS} digits`);
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits);
}

/**
 * Returns whether a parsed value has a number that may stand for an integer beyond 2^53. Reading the value takes a tenth of
 * the time of searching its text for digits.
 */
export function hasLargeNumber(value: unknown): boolean {
  const remaining = [value];
  // Deeply nested values must not exhaust the stack.
  while (remaining.length > 0) {
    const next = remaining.pop();
    if (isLarge(next)) return true;
    if (typeof next !== 'object' || next === null) continue;
    for (const item of Array.isArray(next) ? next : Object.values(next)) {
      if (isLarge(item)) return true;
      if (typeof item === 'object' && item !== null) remaining.push(item);
    }
  }
  return false;
}

function isLarge(value: unknown): boolean {
  return typeof value === 'number' && (value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER);
}

/** The reverse of `parseJson`. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // Without a replacer, the native serialiser is faster, and rejects bigint.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, withDigits);
  }
}

/** Returns one JSON object with the fields of two. */
export function joinObjects(first: string, second: string): string {
  const separator = first === '{}' || second === '{}' ? '' : ',';
  return `${first.slice(0, -1)}${separator}${second.slice(1)}`;
}

/** Formats a JSON text with one field on each line. Integers keep their digits. @throws SyntaxError */
export function indentJson(text: string): string {
  return JSON.stringify(parseJson(text), withDigits, 2);
}

function withDigits(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJson(String(value)) : value;
}

/** TypeScript's library of ES2024 does not declare `JSON.rawJSON`, which Node 24 has. */
const { rawJSON: rawJson } = JSON as JSON & { rawJSON(text: string): unknown };
