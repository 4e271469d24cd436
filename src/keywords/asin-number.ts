/** An ASIN is ten digits in base 36; as a number it fits into eight bytes and needs no dictionary. 0 stands for none. */
export function asinToNumber(asin: string): number {
  return Number.parseInt(asin, 36);
}

export function asinOfNumber(number: number): string {
  return number.toString(36).toUpperCase().padStart(10, '0');
}
