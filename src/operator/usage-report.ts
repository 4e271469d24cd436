import type { Queryable } from '../platform/db/pool.ts';

/** The usage statistics of an operation in a period. */
export interface OperationUsage {
  operation: string;
  calls: number;
  unitsSold: number;
  tokensSpent: number;
  tokensSaved: number;
}

/** Returns the statistics by operation, in descending order of tokens. Only whole hours can be selected. */
export async function usageByOperation(
  database: Queryable,
  { from, to }: { from: number; to: number },
): Promise<OperationUsage[]> {
  const { rows } = await database.query<OperationUsage>(
    `select operation, sum(calls)::bigint as calls, sum(units_sold)::bigint as "unitsSold",
       sum(tokens_spent) as "tokensSpent", sum(tokens_saved) as "tokensSaved"
     from operation_hours where hour > $1 and hour <= $2 group by operation
     order by sum(tokens_spent) desc, sum(units_sold) desc, operation`,
    [new Date(from), new Date(to)],
  );
  return rows;
}

/** A unit is worth at least a token: an operation that sells fewer units than it spends tokens loses money. */
const LEAST_UNITS_PER_TOKEN = 1;

/** Returns the operations that earned less than their tokens cost. */
export function lossesIn(usage: readonly OperationUsage[]): OperationUsage[] {
  return usage.filter(({ unitsSold, tokensSpent }) => unitsSold < LEAST_UNITS_PER_TOKEN * tokensSpent);
}

export function totalOf(figures: readonly OperationUsage[]): Omit<OperationUsage, 'operation'> {
  const sum = (field: 'calls' | 'unitsSold' | 'tokensSpent' | 'tokensSaved') =>
    figures.reduce((total, one) => total + one[field], 0);
  return {
    calls: sum('calls'),
    unitsSold: sum('unitsSold'),
    tokensSpent: sum('tokensSpent'),
    tokensSaved: sum('tokensSaved'),
  };
}
