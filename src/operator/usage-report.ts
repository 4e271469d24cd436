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

/** Requests with an account at the provider in an hour or a UTC day. */
export interface AccountUsage {
  account: string;
  /** Start of the hour or day. */
  at: Date;
  tokens: number;
  answered: number;
  refused: number;
  limited: number;
  failed: number;
  timeout: number;
}

/** Returns the use of the accounts at a provider, the newest first. */
export async function accountUsage(
  database: Queryable,
  provider: string,
  { from, to, by }: { from: number; to: number; by: 'hour' | 'day' },
): Promise<AccountUsage[]> {
  const { rows } = await database.query<AccountUsage>(
    `select account, date_trunc($4, hour, 'UTC') as at, sum(tokens) as tokens, sum(answered)::bigint as answered,
       sum(refused)::bigint as refused, sum(limited)::bigint as limited, sum(failed)::bigint as failed,
       sum(timeout)::bigint as timeout
     from provider_account_hours where provider = $1 and hour > $2 and hour <= $3
     group by 1, 2 order by 2 desc, 1`,
    [provider, new Date(from), new Date(to), by],
  );
  return rows;
}

/** Returns tokens and requests without an answer of each account. */
export function sumsByAccount(
  usage: readonly AccountUsage[],
): Map<string, { tokens: number; failures: number }> {
  const sums = new Map<string, { tokens: number; failures: number }>();
  for (const { account, tokens, refused, limited, failed, timeout } of usage) {
    const sum = sums.get(account) ?? { tokens: 0, failures: 0 };
    const failures = sum.failures + refused + limited + failed + timeout;
    sums.set(account, { tokens: sum.tokens + tokens, failures });
  }
  return sums;
}
