/** Returns an ASIN as a number. An ASIN is ten digits in base 36, so it fits into eight bytes. 0 means no product. */
export function asinToNumber(asin: string): number {
  return Number.parseInt(asin, 36);
}

export function asinOfNumber(number: number): string {
  let asin = '';
  for (let rest = number; asin.length < ASIN_LENGTH; ) {
    const above = Math.floor(rest / PAIRS.length);
    asin = PAIRS[rest - above * PAIRS.length] + asin;
    rest = above;
  }
  return asin;
}

const ASIN_LENGTH = 10;

/** Converts two digits at a time, which is several times as fast as toString(36). A page has thousands of products. */
const PAIRS = Array.from({ length: 36 ** 2 }, (_, i) => i.toString(36).toUpperCase().padStart(2, '0'));
