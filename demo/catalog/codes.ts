import { gtinCheckDigit } from '../../src/operations/params/lists.ts';

// An EAN encodes the ASIN of its product, so that the product is found again: the digits after the first one are the
// last eight characters of the ASIN, read as a number in base 36, with the third pair of characters first. The first
// digit is 0 for even numbers, so that the EAN is also a UPC, and 4 for odd ones. ASINs whose number is too long for eleven digits have no EAN.

const CHARACTERS = 8;
const DIGITS = 11;

/** Returns the EAN of a product; null for a product without one. */
function eanOf(asin: string): string | null {
  const [, category, seller, anything, position] = asin.match(/../g) ?? [];
  const number = Number.parseInt(`${anything}${category}${seller}${position}`, 36);
  if (!asin.startsWith('B0') || number >= 10 ** DIGITS) return null;
  const digits = (number % 2 === 0 ? '0' : '4') + String(number).padStart(DIGITS, '0');
  return digits + gtinCheckDigit(digits);
}

/** Returns the ASIN of a UPC or an EAN; null if no product has it. */
export function asinOfCode(code: string): string | null {
  const ean = code.padStart(1 + DIGITS + 1, '0');
  const number = Number(ean.slice(1, -1)).toString(36).toUpperCase().padStart(CHARACTERS, '0');
  const [anything, category, seller, position] = number.match(/../g) ?? [];
  const asin = `B0${category}${seller}${anything}${position}`;
  return /^\d{13}$/.test(ean) && eanOf(asin) === ean ? asin : null;
}

/** Returns the codes of a product as the provider lists them. */
export function codesOf(asin: string): Record<'eanList' | 'upcList' | 'gtinList', string[] | null> {
  const ean = eanOf(asin);
  if (ean === null) return { eanList: null, upcList: null, gtinList: null };
  return { eanList: [ean], upcList: ean.startsWith('0') ? [ean.slice(1)] : null, gtinList: [`0${ean}`] };
}
