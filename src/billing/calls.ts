import type { PoolName } from '../operations/pools.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { allRows, firstRow, hasRow, NO_ID, unixMs } from '../platform/db/rows.ts';
import { HOUR_MS } from '../platform/durations.ts';
import type { ErrorRecord } from '../platform/errors.ts';

/** An admitted call, as stored by admission. Times are Unix milliseconds. */
export interface Call {
  accountId: number;
  callId: string;
  operation: string;
  state: 'reserved' | 'settled' | 'released';
  pool: PoolName;
  unitsReserved: number;
  /** What the account has paid for the partial answer that the call continues. */
  unitsPaid: number;
  unitsCharged: number;
  acceptedAt: number;
  deadlineAt: number;
  startedAt: number | null;
  /** When the job first asked the source of its data, and when the last answer arrived. */
  askedAt: number | null;
  answeredAt: number | null;
  finishedAt: number | null;
  attempts: number;
  /** Where the answer of a settled call is stored. */
  answer: string | null;
  error: ErrorRecord | null;
  /** The canonical input of a call that became a job. */
  input: unknown;
  /** The key of the call; null: a key of the pages, or unknown. */
  keyId: number | null;
  /** True for a call of a batch. */
  background: boolean;
  /** True if a caller received the job of the call instead of its answer, because it had waited long enough or joined the call. */
  polled: boolean;
}

export function findCall(database: Queryable, accountId: number, callId: string) {
  return firstRow<Call>(database, {
    name: 'find-call',
    text: `select ${CALL} from calls c where c.account_id = $1 and c.id = $2`,
    values: [accountId, callId],
  });
}

/**
 * Notes that a caller may fetch the result of a call later.
 * @param input the canonical input, for a call that was stored without it; null if unknown.
 */
export async function notePolled(
  database: Database,
  { accountId, callId }: { accountId: number; callId: string },
  input: unknown,
): Promise<void> {
  await database.query({
    name: 'note-polled',
    text: 'select souk_note_polled($1, $2, $3)',
    values: [accountId, callId, input === null ? null : JSON.stringify(input)],
  });
}

/**
 * The most calls that a page of a list reads, which takes about ten milliseconds. The page may be empty, because filters
 * are applied afterwards and calls of batches are not listed.
 */
export const MOST_CALLS_READ = 20_000;

/** Inputs have up to 64 KiB, so a page that searches them reads fewer calls. */
const MOST_INPUTS_READ = 500;

interface CallFilter {
  states: readonly Call['state'][];
  /** Whether to list cancelled calls or other released ones; null: both. */
  cancelled: boolean | null;
  operation: string | null;
  /** Only calls whose stored input contains this text, in either case. */
  contains: string | null;
  keyId: number | null;
  /** [acceptedFrom, acceptedTo] in Unix milliseconds. */
  acceptedFrom: number;
  acceptedTo: number | null;
  /** The `next` of the previous page. */
  before: string | null;
  limit: number;
}

/**
 * Lists the calls of an account, the newest first, without calls of batches. `next` is the id after which the next page begins; null
 * for the last page. A page may hold fewer calls than `limit`.
 */
export async function listCalls(
  database: Database,
  accountId: number,
  filter: CallFilter,
): Promise<{ calls: Call[]; next: string | null }> {
  const { states, cancelled, operation, contains, keyId, acceptedFrom, acceptedTo, before, limit } = filter;
  // Ids are UUIDs of version 7 and sort by time, so a bound on the id skips older calls.
  const range = [
    accountId,
    before,
    firstIdAt(acceptedFrom - CLOCKS_APART_MS),
    contains === null ? MOST_CALLS_READ : MOST_INPUTS_READ,
  ];
  const { rows } = await database.query<(Call | { callId: null }) & { lastRead: string | null }>({
    name: 'list-calls',
    text: `with read as materialized (
        select id, background, accepted_at, state, operation, key_id, error ->> 'kind' as error_kind
        from (${CALLS_READ} limit $4) as newest
      ), listed as (
        select id from read
        where not background and accepted_at >= $5 and state = any($6::call_state[])
          and ($7::boolean is null or coalesce(error_kind = 'CANCELLED', false) = $7)
          and ($8::text is null or operation = $8)
          and ($11::bigint is null or key_id = $11)
          and ($12::timestamptz is null or accepted_at <= $12)
          and ($10::text is null or exists (select from calls c where c.account_id = $1 and c.id = read.id
            and position(lower($10) in lower(c.input::text)) > 0))
        order by id desc limit $9
      )
      select (select id from read order by id desc offset $4 - 1 limit 1) as "lastRead", ${CALL}
      from (select) as one left join (listed join calls c on c.account_id = $1 and c.id = listed.id) on true
      order by c.id desc`,
    values: [
      ...range,
      ...[new Date(acceptedFrom), states, cancelled, operation, limit + 1, contains, keyId],
      acceptedTo === null ? null : new Date(acceptedTo),
    ],
  });
  const calls = rows.flatMap(({ lastRead: _, ...call }) => (call.callId === null ? [] : [call]));
  if (calls.length > limit) return { calls: calls.slice(0, limit), next: calls[limit - 1]?.callId ?? null };
  return { calls, next: rows[0]?.lastRead ?? null };
}

/** The calls of the account $1 before the call $2 and not before $3. */
const CALLS_READ = `select * from calls
  where account_id = $1 and ($2::uuid is null or id < $2) and id >= $3 order by id desc`;

/** Gateways create ids by their own clocks, which may differ by this much. */
const CLOCKS_APART_MS = HOUR_MS;

/** Returns a lower bound of the ids of version 7 that are created at this time or later. */
export function firstIdAt(unixMs: number): string {
  const hex = Math.max(0, unixMs).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/**
 * Returns whether an identical call of the key's account is open, or was settled and accepted after
 * `acceptedAfter`. A call with a partial answer is continued and not joined.
 */
export function hasJoinableCall(
  database: Database,
  keyHash: Buffer,
  chargeId: string,
  acceptedAfter: number,
) {
  return hasRow(database, {
    name: 'joinable-call',
    text: `select 1 from api_keys k
      cross join lateral (
        select 1 from open_calls where claim_key = souk_claim_key(k.account_id, $2)
        union all
        select 1 from call_claims where claim_key = souk_claim_key(k.account_id, $2) and accepted_at > $3
          and coalesce(answer, '') not like 'partial:%'
      ) as c
      where k.hash = $1 limit 1`,
    values: [keyHash, Buffer.from(chargeId, 'hex'), new Date(acceptedAfter)],
  });
}

/** Returns the calls of several accounts in one statement, without those that do not exist. */
export function findCalls(database: Database, ids: readonly { accountId: number; callId: string }[]) {
  return allRows<Call>(database, {
    name: 'find-calls',
    text: `select ${CALL} from unnest($1::bigint[], $2::uuid[]) as w (account_id, id)
      join calls c on c.account_id = w.account_id and c.id = w.id`,
    values: [ids.map(({ accountId }) => accountId), ids.map(({ callId }) => callId)],
  });
}

/** Returns reserved calls whose deadline passed before `before`, the oldest first. */
export function findOverdueCalls(database: Database, before: number, limit: number) {
  return allRows<Call>(database, {
    name: 'overdue-calls',
    text: `select ${CALL} from calls c where state = 'reserved' and deadline_at < $1 order by deadline_at limit $2`,
    values: [new Date(before), limit],
  });
}

/** Where the job of an open call should be. */
export interface WaitingCall {
  accountId: number;
  callId: string;
  pool: PoolName;
  deadlineAt: number;
}

/**
 * Lists open calls that were accepted before `acceptedBefore` and whose deadline is later than `deadlineAfter`, by their
 * deadlines. @param after the last call of the previous page.
 */
export function listWaitingCalls(
  database: Database,
  page: { acceptedBefore: number; deadlineAfter: number; after: WaitingCall | null; limit: number },
) {
  const { acceptedBefore, deadlineAfter, after, limit } = page;
  return allRows<WaitingCall>(database, {
    name: 'waiting-calls',
    text: `select account_id as "accountId", id as "callId", pool, ${unixMs('deadline_at')} as "deadlineAt"
      from open_calls
      where deadline_at > $1 and accepted_at < $2 and (deadline_at, id) > ($3, $4)
      order by deadline_at, id limit $5`,
    values: [
      new Date(deadlineAfter),
      new Date(acceptedBefore),
      new Date(after?.deadlineAt ?? 0),
      after?.callId ?? NO_ID,
      limit,
    ],
  });
}

/** Returns those of some calls that are still open. */
export async function findOpenCalls(
  database: Database,
  ids: readonly { accountId: number; callId: string }[],
): Promise<Call[]> {
  return (await findCalls(database, ids)).filter(({ state }) => state === 'reserved');
}

const CALL = `c.account_id as "accountId", c.id as "callId", c.operation, c.state, c.pool,
  c.units_reserved as "unitsReserved", c.units_paid as "unitsPaid",
  c.units_charged as "unitsCharged", ${unixMs('c.accepted_at')} as "acceptedAt",
  ${unixMs('c.deadline_at')} as "deadlineAt", ${unixMs('c.started_at')} as "startedAt",
  ${unixMs('c.finished_at')} as "finishedAt", ${unixMs('c.asked_at')} as "askedAt", ${unixMs('c.answered_at')} as "answeredAt",
  c.attempts, c.answer, c.error, c.input, c.key_id as "keyId", c.background, c.polled`;
