/** A month of a plan that an upgrade ends. Times are Unix milliseconds. */
export interface UpgradedMonth {
  from: number;
  to: number;
  /** The units of the whole month; null: unlimited. */
  total: number | null;
  used: number;
}

/**
 * Returns the units of a month that count against the first month of the dearer plan. Stripe credits the price of the time that is
 * left of the month, so the customer keeps paying for the units of the time that has passed. Units used beyond these are carried
 * over.
 */
export function carriedUnits({ from, to, total, used }: UpgradedMonth, upgradedAt: number): number {
  if (total === null) return 0;
  const paidShare = Math.min(1, Math.max(0, (upgradedAt - from) / (to - from)));
  return Math.max(0, used - Math.floor(total * paidShare));
}
