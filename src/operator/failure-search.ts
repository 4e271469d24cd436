import type { Queryable } from '../platform/db/pool.ts';
import type { ErrorRecord } from '../platform/errors.ts';

export interface LoggedFailure {
  id: number;
  at: Date;
  code: string;
  /** The route or the operation. */
  place: string;
  errorId: string | null;
  requestId: string | null;
  callId: string | null;
  accountId: number | null;
  reason: string;
}

/** A call that ended with an error, as its customer received it. */
export interface FailedCall {
  accountId: number;
  callId: string;
  operation: string;
  finishedAt: Date;
  attempts: number;
  error: ErrorRecord;
}

/** Returns failures, the newest first. @param id an error id, request id or job id; null: all failures. */
export async function searchFailures(
  database: Queryable,
  { id, before, limit }: { id: string | null; before: number | null; limit: number },
): Promise<LoggedFailure[]> {
  const { rows } = await database.query<LoggedFailure>(
    `select id, at, code, place, error_id as "errorId", request_id as "requestId", call_id as "callId",
       account_id as "accountId", reason
     from failures
     where ($1::text is null or error_id = $1 or request_id = $1 or call_id::text = $1)
       and ($2::bigint is null or id < $2)
     order by id desc limit $3`,
    [id, before, limit],
  );
  return rows;
}

/** Returns the calls that failed since a time, the newest first. @param kinds kinds of errors; null: all. */
export async function failedCalls(
  database: Queryable,
  { kinds, since, limit }: { kinds: readonly string[] | null; since: number; limit: number },
): Promise<FailedCall[]> {
  const { rows } = await database.query<FailedCall>(
    `${SELECT_FAILED} and ($1::text[] is null or error ->> 'kind' = any($1)) and finished_at > $2
     order by finished_at desc limit $3`,
    [kinds, new Date(since), limit],
  );
  return rows;
}

/** Returns the failed calls with this job id or error id. */
export async function failedCallsOf(database: Queryable, id: string, limit: number): Promise<FailedCall[]> {
  const { rows } = await database.query<FailedCall>(
    // PostgreSQL keeps no statistics of the values in a partial index. With one condition it expects so many calls that it would
    // read all failed ones.
    `(${SELECT_FAILED} and ${ERROR_ID} = $1 and ${ERROR_ID} between $1 and $1)
     union (${SELECT_FAILED} and id = $2::uuid)
     order by "finishedAt" desc limit $3`,
    [id, UUID.test(id) ? id : null, limit],
  );
  return rows;
}

const ERROR_ID = "(error -> 'metadata' ->> 'errorId')";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const SELECT_FAILED = `select account_id as "accountId", id as "callId", operation, finished_at as "finishedAt", attempts,
  error from calls where error is not null and finished_at is not null`;
