/** The days between a week and those with which a screen compares it. */
export const FIRST_CHANGE_DAYS = 28;
export const SECOND_CHANGE_DAYS = 84;

/** The change of a term that was not ranked in the earlier week, or whose earlier week is not loaded: the lowest integer. */
export const UNKNOWN_CHANGE = -2_147_483_648;

/** Without the sign, so that masks are positive integers. */
const BITS = 31;

/** The bits of a token, and which of the two columns has them. */
export function bitsOf(token: number): { column: 0 | 1; mask: number } {
  const bit = (from: number) => 1 << ((token >>> from) % BITS);
  return { column: token & 1 ? 1 : 0, mask: bit(1) | bit(11) };
}

/** Returns the two columns of bits of a term. */
export function screenBits(tokens: readonly number[]): [number, number] {
  const bits: [number, number] = [0, 0];
  for (const token of tokens) {
    const { column, mask } = bitsOf(token);
    bits[column] |= mask;
  }
  return bits;
}
