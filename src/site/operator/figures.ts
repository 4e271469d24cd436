const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const SMALL = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** Tokens and ratios: one digit after the point while they are small. */
export function amount(value: number): string {
  return (Math.abs(value) < 100 ? SMALL : WHOLE).format(value);
}

/** A part of a whole, in percent. */
export function share(part: number, whole: number): string {
  return whole > 0 ? `${SMALL.format((100 * part) / whole)} %` : '0 %';
}
