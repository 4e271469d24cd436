/** The disputes for which Stripe has taken the money back. Inquiries (`warning_...`) leave it. */
const TAKES_MONEY: ReadonlySet<string> = new Set(['needs_response', 'under_review', 'lost']);

/**
 * Returns the share of a payment that refunds and disputes have reversed, from 0 to 1.
 * @param charge amounts in cents.
 */
export function reversedShare(
  charge: { amount: number; amountRefunded: number },
  disputeStates: readonly string[],
): number {
  if (disputeStates.some((state) => TAKES_MONEY.has(state))) return 1;
  return charge.amount === 0 ? 0 : Math.min(1, charge.amountRefunded / charge.amount);
}

/**
 * Returns how many units to take back from a grant; a negative number is given back. Never takes more than is left, and never
 * gives back more than was taken.
 */
export function unitsToRevoke(
  { total, left, revoked }: { total: number; left: number; revoked: number },
  share: number,
): number {
  const wanted = Math.floor(total * share);
  return wanted > revoked ? Math.min(wanted - revoked, Math.max(0, left)) : wanted - revoked;
}
