import { isSafeNumber, parse as parseLossless, stringify as stringifyLossless } from 'lossless-json';

/** Longest integer that is parsed: converting digits takes more than linear time. */
const LONGEST_INTEGER_DIGITS = 1_000;

/**
 * Parses JSON and keeps integers beyond 2^53 as bigint, which `stringifyJson` writes as digits again. Upstream sends such
 * ids in normal answers (the blank category is 2^63-1). Texts without a number of 16 digits use the native parser.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  if (!hasLargeInteger(text)) return JSON.parse(text);
  return parseLossless(text, null, (digits) => {
    if (digits.length > LONGEST_INTEGER_DIGITS)
      throw new SyntaxError(`A number has more than ${LONGEST_INTEGER_DIGITS} digits`);
    return /^-?\d+$/.test(digits) && !isSafeNumber(digits) ? BigInt(digits) : Number(digits);
  });
}

/** Returns whether a JSON text may contain an integer that a number cannot represent. */
export function hasLargeInteger(text: string): boolean {
  return /(?:^|[:,[])\s*-?\d{16}/.test(text);
}

/** The reverse of `parseJson`. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // The native serialiser rejects bigint. Anything else that it rejects is a bug and fails again below.
    if (!(error instanceof TypeError)) throw error;
    return stringifyLossless(value) ?? 'null';
  }
}

/** Formats a JSON text with one field on each line. Integers keep their digits. @throws SyntaxError */
export function indentJson(text: string): string {
  return stringifyLossless(parseJson(text), null, 2) ?? text;
}
