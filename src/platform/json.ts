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
 * ids in normal answers (the blank category is 2^63-1). In texts that may have them, they are parsed as marked strings: a
 * reviver would take 25 times as long as parsing, which blocks the event loop for an ordinary list of deals.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  if (!hasLargeInteger(text)) return JSON.parse(text);
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

/** The fewest digits of an integer beyond 2^53. */
const LARGE_DIGITS = 16;

/**
 * Returns whether a JSON text may contain an integer that a number cannot represent. Reads every sixteenth character, which
 * finds all runs of sixteen digits: a regular expression takes twice as long as parsing.
 */
export function hasLargeInteger(text: string): boolean {
  for (let i = LARGE_DIGITS - 1; i < text.length; i += LARGE_DIGITS) {
    if (!isDigit(text, i)) continue;
    let start = i;
    while (isDigit(text, start - 1)) start -= 1;
    let end = i + 1;
    while (isDigit(text, end)) end += 1;
    if (end - start >= LARGE_DIGITS && /[\s:,[-]/.test(text[start - 1] ?? ' ')) return true;
    i = end;
  }
  return false;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
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
