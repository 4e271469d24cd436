// What a sale leaves. The server and the calculator of the pages run this file, so that both give the same figures.

/**
 * All amounts are whole numbers in the smallest unit of the currency; null is unknown. Most products have no closing fee, and
 * then the provider names none: an unknown one counts as 0.
 */
export function saleOf({ price, referral, closing, fba, cost, otherCosts }) {
  const isKnown = price !== null && referral !== null && fba !== null && cost !== null;
  const profit = isKnown ? price - referral - (closing ?? 0) - fba - cost - otherCosts : null;
  return { profit, margin: percent(profit, price), roi: percent(profit, cost) };
}

/** Rounds to two digits after the decimal point. One division of whole numbers rounds ties exactly. */
function percent(profit, of) {
  return profit === null || !of ? null : Math.round((10_000 * profit) / of) / 100;
}
