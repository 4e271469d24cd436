/** How a term has moved since the week before. Their order is their number in the database, from 1. */
export const FLUCTUATIONS = ['new', 'rising', 'falling', 'stable'] as const;

export type Fluctuation = (typeof FLUCTUATIONS)[number];

/**
 * A term rises or falls when its rank moves by at least this share of what it was and by at least so many places: a
 * hundred places are an event at rank 300 and nothing at rank 900,000, and from 3 to 4 is not falling.
 */
export const CHANGE_LIMITS = { minRate: 0.05, minPlaces: 5 } as const;

/** In the database 0 where the week before is not loaded. */
export function fluctuationOf(number: number): Fluctuation | null {
  return FLUCTUATIONS[number - 1] ?? null;
}

/**
 * The change from an earlier rank; positive is better. Null where there is none: the term was not ranked (0), or that
 * week is not loaded (-1).
 */
export function changeOf(
  earlier: number,
  rank: number,
): { rank: number; change: number; rate: number } | null {
  if (earlier <= 0) return null;
  const change = earlier - rank;
  return { rank: earlier, change, rate: Math.round((change / earlier) * 10_000) / 10_000 };
}

/** The number of a term's fluctuation as SQL, from expressions for the earlier and the present rank. */
export function fluctuationSql(earlier: string, rank: string): string {
  const { minRate, minPlaces } = CHANGE_LIMITS;
  // Whole numbers: a fraction makes PostgreSQL calculate in decimals, a million times a week.
  const perTenThousand = Math.round(minRate * 10_000);
  const moved = (change: string) =>
    `${change} >= ${minPlaces} and ${change}::bigint * 10000 >= ${perTenThousand} * ${earlier}::bigint`;
  return `case when ${earlier} < 0 then 0 when ${earlier} = 0 then 1
    when ${moved(`(${earlier} - ${rank})`)} then 2 when ${moved(`(${rank} - ${earlier})`)} then 3 else 4 end`;
}
