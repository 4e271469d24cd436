/** What an automatic top-up has bought in a UTC month, such as 2026-03. */
export interface MonthSpent {
  month: string;
  spentCents: number;
  purchases: number;
}

export interface TopUpRule {
  thresholdUnits: number;
  ceilingCents: number;
}

/**
 * Returns what an account has spent in the month after one more pack, or null if none is bought: enough units are left, or the
 * ceiling would be exceeded.
 * @param unitsLeft null: unlimited.
 */
export function decideTopUp(
  { thresholdUnits, ceilingCents }: TopUpRule,
  spent: MonthSpent,
  { unitsLeft, priceCents, now }: { unitsLeft: number | null; priceCents: number; now: number },
): MonthSpent | null {
  if (unitsLeft === null || unitsLeft >= thresholdUnits) return null;
  const month = new Date(now).toISOString().slice(0, 7);
  const present = spent.month === month ? spent : { month, spentCents: 0, purchases: 0 };
  const spentCents = present.spentCents + priceCents;
  return priceCents > 0 && spentCents <= ceilingCents
    ? { month, spentCents, purchases: present.purchases + 1 }
    : null;
}
