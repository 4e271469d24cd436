import type { JsonSchema } from './documentation.ts';
import { Fault } from './request.ts';

/** One UPC, EAN or ISBN. */
export const PRODUCT_CODE_SCHEMA: JsonSchema = {
  type: 'string',
  pattern: '^[0-9Xx-]{8,17}$',
  minLength: 8,
  maxLength: 17,
  examples: ['4006381333931'],
};

/** Parses a UPC, an EAN or an ISBN with a valid check digit, without hyphens. An ISBN of 10 digits becomes one of 13. */
export function parseProductCode(item: string): string | Fault {
  const code = item.replaceAll('-', '').toUpperCase();
  const isIsbn10 = /^\d{9}[\dX]$/.test(code);
  if (!isIsbn10 && !/^(?:\d{8}|\d{12}|\d{13})$/.test(code))
    return new Fault('must be a UPC (12 digits), an EAN (8 or 13 digits) or an ISBN (10 or 13 digits)');
  const digits = code.slice(0, -1);
  const expected = isIsbn10 ? isbn10CheckDigit(digits) : gtinCheckDigit(digits);
  if (!code.endsWith(expected)) return new Fault(`must end with the check digit ${expected}`);
  return isIsbn10 ? `978${digits}${gtinCheckDigit(`978${digits}`)}` : code;
}

/** Returns the check digit of a UPC, an EAN or an ISBN of 13 digits. @param digits the code without it. */
export function gtinCheckDigit(digits: string): string {
  const sum = digits
    .split('')
    .reverse()
    .reduce((total, digit, i) => total + Number(digit) * (i % 2 === 0 ? 3 : 1), 0);
  return String((10 - (sum % 10)) % 10);
}

function isbn10CheckDigit(digits: string): string {
  const sum = digits.split('').reduce((total, digit, i) => total + Number(digit) * (10 - i), 0);
  const check = (11 - (sum % 11)) % 11;
  return check === 10 ? 'X' : String(check);
}
