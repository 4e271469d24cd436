/** Currencies by the provider's domain number. */
const CURRENCIES: Readonly<Record<number, string>> = {
  ...{ 1: 'USD', 2: 'GBP', 3: 'EUR', 4: 'EUR', 5: 'JPY', 6: 'CAD', 8: 'EUR', 9: 'EUR' },
  ...{ 10: 'INR', 11: 'MXN', 12: 'BRL' },
};

/** How a site's prices are written. */
export function priceFormat(domain: number): Intl.NumberFormatOptions {
  return { style: 'currency', currency: CURRENCIES[domain] ?? 'USD' };
}

/** A price of the provider in the site's currency; null without data. */
export function priceOf(value: number | null | undefined, domain: number): number | null {
  if (typeof value !== 'number' || value < 0) return null;
  // The provider's prices of this site are whole yen.
  return domain === 5 ? value : value / 100;
}
