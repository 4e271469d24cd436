import type { Queryable } from '../platform/db/pool.ts';

/** Open calls, pending purchases and recent failures, for the front page of the operator console. */
export interface OpenWork {
  openCalls: number;
  /** Those of them that belong to batches. */
  openBatchCalls: number;
  pendingPurchases: number;
  /** Calls that failed through our fault or the provider's in the last day. */
  failedCalls: number;
}

export async function readOpenWork(database: Queryable, now: number): Promise<OpenWork> {
  const { rows } = await database.query<OpenWork>(
    `select o.calls as "openCalls", o.batch_calls as "openBatchCalls",
       (select count(*) from orders where state = 'pending') as "pendingPurchases",
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
