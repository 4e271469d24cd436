/** How the rank of a term changed since the previous week. The database stores the position in this list, from 1. */
export const FLUCTUATIONS = ['new', 'rising', 'falling', 'stable'] as const;

export type Fluctuation = (typeof FLUCTUATIONS)[number];

/**
 * A term rises or falls when its rank changes by at least `minRate` of the earlier rank and by at least `minPlaces`.
 * A hundred places matter at rank 300 and not at rank 900,000, and a change from 3 to 4 is not a fall.
 */
export const CHANGE_LIMITS = { minRate: 0.05, minPlaces: 5 } as const;

/** Returns the fluctuation with this database number; null for 0, which means that the previous week is not loaded. */
export function fluctuationOf(number: number): Fluctuation | null {
  return FLUCTUATIONS[number - 1] ?? null;
}

/**
 * Returns the change from an earlier rank; positive is better. Returns null when the term was not ranked then (0) or
 * that week is not loaded (-1).
 */
export function changeOf(
  earlier: number,
  rank: number,
): { rank: number; change: number; rate: number } | null {
  if (earlier <= 0) return null;
  const change = earlier - rank;
  return { rank: earlier, change, rate: Math.round((change / earlier) * 10_000) / 10_000 };
}

/** Returns an SQL expression for the fluctuation's number, from expressions for the earlier and the current rank. */
export function fluctuationSql(earlier: string, rank: string): string {
  const { minRate, minPlaces } = CHANGE_LIMITS;
  // Integers only: a fraction would make PostgreSQL use slow decimal arithmetic for a million rows a week.
  const perTenThousand = Math.round(minRate * 10_000);
  const moved = (change: string) =>
    `${change} >= ${minPlaces} and ${change}::bigint * 10000 >= ${perTenThousand} * ${earlier}::bigint`;
  return `case when ${earlier} < 0 then 0 when ${earlier} = 0 then 1
    when ${moved(`(${earlier} - ${rank})`)} then 2 when ${moved(`(${rank} - ${earlier})`)} then 3 else 4 end`;
}
