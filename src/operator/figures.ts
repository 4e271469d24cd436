import type { Queryable } from '../platform/db/pool.ts';

/** The usage statistics of an operation in a period. */
export interface OperationFigures {
  operation: string;
  calls: number;
  unitsSold: number;
  tokensSpent: number;
  tokensSaved: number;
}

/** Returns the statistics by operation, in descending order of tokens. Only whole hours can be selected. */
export async function operationFigures(
  database: Queryable,
  { from, to }: { from: number; to: number },
): Promise<OperationFigures[]> {
  const { rows } = await database.query<OperationFigures>(
    `select operation, sum(calls)::bigint as calls, sum(units_sold)::bigint as "unitsSold",
       sum(tokens_spent) as "tokensSpent", sum(tokens_saved) as "tokensSaved"
     from operation_hours where hour > $1 and hour <= $2 group by operation
     order by sum(tokens_spent) desc, sum(units_sold) desc, operation`,
    [new Date(from), new Date(to)],
  );
  return rows;
}

export function totalOf(figures: readonly OperationFigures[]): Omit<OperationFigures, 'operation'> {
  const sum = (field: 'calls' | 'unitsSold' | 'tokensSpent' | 'tokensSaved') =>
    figures.reduce((total, one) => total + one[field], 0);
  return {
    calls: sum('calls'),
    unitsSold: sum('unitsSold'),
    tokensSpent: sum('tokensSpent'),
    tokensSaved: sum('tokensSaved'),
  };
}

/** Open calls, pending purchases and recent failures, for the front page of the operator console. */
export interface OpenMatters {
  openCalls: number;
  /** Those of them that belong to batches. */
  openBatchCalls: number;
  pendingOrders: number;
  /** Calls that failed through our fault or the provider's in the last day. */
  failedCalls: number;
}

export async function openMatters(database: Queryable, now: number): Promise<OpenMatters> {
  const { rows } = await database.query<OpenMatters>(
    `select o.calls as "openCalls", o.batch_calls as "openBatchCalls",
       (select count(*) from orders where state = 'pending') as "pendingOrders",
       (select count(*) from calls where error is not null and finished_at > $1
         and error ->> 'kind' = any($2)) as "failedCalls"
     from (select count(*) as calls, count(*) filter (where background) as batch_calls
       from calls where state = 'reserved') as o`,
    [new Date(now - 86_400_000), OUR_FAILURES],
  );
  const [matters] = rows;
  if (!matters) throw new Error('the query returned no row');
  return matters;
}

/** Kinds of errors that a customer cannot cause. */
export const OUR_FAILURES = ['INTERNAL', 'UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT', 'BUSY', 'DEADLINE_PASSED'];

export interface TokenReadingAt {
  at: Date;
  left: number;
  perMinute: number;
}

/** Returns the tokens left per minute, the oldest first. */
export async function tokenCourse(database: Queryable, since: number): Promise<TokenReadingAt[]> {
  const { rows } = await database.query<TokenReadingAt>(
    `select minute as at, tokens_left as left, tokens_per_minute as "perMinute"
     from token_readings where minute > $1 order by minute`,
    [new Date(since)],
  );
  return rows;
}
