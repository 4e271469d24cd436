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

/** An operation whose units were sold for less than its tokens cost. */
export interface Loss {
  operation: string;
  soldCents: number;
  tokenCents: number;
}

/**
 * Returns the operations that earned less than their tokens cost. A unit was sold for what was paid in the last 30 days, divided by the
 * units that were sold in them.
 * @param tokenPrice of one token, in the currency. null: unknown.
 */
export async function lossesIn(
  database: Queryable,
  usage: readonly OperationUsage[],
  { tokenPrice, currency, now }: { tokenPrice: number | null; currency: string; now: number },
): Promise<Loss[]> {
  if (tokenPrice === null) return [];
  const centsPerUnit = await findCentsPerUnit(database, currency, now);
  if (centsPerUnit === null) return [];
  return usage
    .map(({ operation, unitsSold, tokensSpent }) => ({
      operation,
      soldCents: unitsSold * centsPerUnit,
      tokenCents: tokensSpent * tokenPrice * 100,
    }))
    .filter(({ soldCents, tokenCents }) => soldCents < tokenCents);
}

/** Returns null if no units were sold. */
async function findCentsPerUnit(database: Queryable, currency: string, now: number): Promise<number | null> {
  // The first month of a plan that renews is paid by its purchase.
  const { rows } = await database.query<{ centsPerUnit: number | null }>(
    `with paid as (
       select amount_cents from orders where state = 'granted' and currency = $1 and ended_at > $2 and ended_at <= $3
       union all
       select r.amount_cents from stripe_payments p join renewing_plans r on r.id = p.renewing_plan_id
         join orders o on o.id = p.purchase_id
       where o.currency = $1 and p.at > $2 and p.at <= $3 and p.at <> o.ended_at
     )
     select (select coalesce(sum(amount_cents), 0) from paid)::float8 / nullif(sum(units_sold), 0)::float8 as "centsPerUnit"
     from operation_hours where hour > $2 and hour <= $3`,
    [currency, new Date(now - PAID_MS), new Date(now)],
  );
  return rows[0]?.centsPerUnit ?? null;
}

const PAID_MS = 30 * 86_400_000;

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
