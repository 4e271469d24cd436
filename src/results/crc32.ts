/** The polynomial of CRC-32 (RFC 1952), with the highest power in the lowest bit. */
const POLYNOMIAL = 0xedb88320;

/** x to the power of 0, which is 1. */
const ONE = 0x80000000;

/**
 * Returns the CRC-32 of two concatenated texts from the CRC-32 of each. Appending a byte to a text multiplies its
 * remainder by x to the power of 8, as in zlib's `crc32_combine`.
 * @param length bytes of the second text.
 */
export function appendCrc32(first: number, second: number, length: number): number {
  return (multiply(powerOfX(8 * length), first) ^ second) >>> 0;
}

/** Returns x to a power, modulo the polynomial. */
function powerOfX(power: number): number {
  let result = ONE;
  let square = ONE >>> 1;
  for (let rest = power; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

/** Multiplies two polynomials modulo the polynomial. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if (a & bit) product ^= shifted;
    shifted = shifted & 1 ? (shifted >>> 1) ^ POLYNOMIAL : shifted >>> 1;
  }
  return product >>> 0;
}
