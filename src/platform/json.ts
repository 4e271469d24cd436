import { isSafeNumber, parse as parseLossless, stringify as stringifyLossless } from 'lossless-json';

/**
 * JSON whose integers survive beyond 2^53. Upstream sends such ids in ordinary answers (the blank category is
 * 2^63-1); they become bigint here and digits again on the way out. Texts without a number of 16 digits, nearly all of
 * them, take the native parser.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  if (!hasLargeInteger(text)) return JSON.parse(text);
  return parseLossless(text, null, (digits) =>
    /^-?\d+$/.test(digits) && !isSafeNumber(digits) ? BigInt(digits) : Number(digits),
  );
}

/** Whether a JSON text may hold an integer that a number cannot. */
export function hasLargeInteger(text: string): boolean {
  return /(?:^|[:,[])\s*-?\d{16}/.test(text);
}

/** The reverse of `parseJson`. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // The native serialiser refuses bigint; anything else it refuses is a fault of ours and will fail again.
    if (!(error instanceof TypeError)) throw error;
    return stringifyLossless(value) ?? 'null';
  }
}

/** A JSON text with a field a line. Integers keep their digits. @throws SyntaxError */
export function indentJson(text: string): string {
  return stringifyLossless(parseJson(text), null, 2) ?? text;
}
