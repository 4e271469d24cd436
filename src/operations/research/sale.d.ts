/** Amounts in the smallest unit of the currency; null is unknown. */
export interface Sale {
  price: number | null;
  referral: number | null;
  closing: number | null;
  fba: number | null;
  cost: number | null;
  otherCosts: number;
}

/** Returns what a sale leaves, and in percent its share of the price and of the cost. */
export function saleOf(sale: Sale): { profit: number | null; margin: number | null; roi: number | null };
