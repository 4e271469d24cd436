import type { Clock } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/db/pool.ts';
import { allRows, firstRow, onlyRow, unixMs } from '../platform/db/rows.ts';
import { DAY_MS } from '../platform/durations.ts';
import type { Logger } from '../platform/log.ts';
import { auditBooks, type Fault } from './books.ts';

/** What the guard may spend of each minute: below one percent of a processor, because most of it is waiting. */
export const BUDGET_OF_MINUTE_MS = 600;

/** A round begins at most once a day. */
const ROUND_MS = DAY_MS;

/** A statement that takes longer ends, and the account counts as not audited. `npm run souk -- verify` has no such limit. */
const STATEMENT_MS = 10_000;

/** The most rows of a broken promise that are counted. */
const MOST_FAULTS = 1_000;

interface GuardDeps {
  database: Database;
  clock: Clock;
  log: Logger;
  statementMs?: number;
}

/** How far the audit is. Times are Unix milliseconds. */
export interface GuardState {
  /** null: the round is over. */
  afterAccount: number | null;
  /** null: no round has begun. */
  roundStartedAt: number | null;
  roundEndedAt: number | null;
  audited: number;
  unaudited: number;
  owedMs: number;
}

/** A promise that is broken for an account. */
export interface BookFault {
  accountId: number;
  promise: string;
  faults: number;
  row: Record<string, unknown>;
  foundAt: Date;
  seenAt: Date;
}

export function readGuard(database: Queryable) {
  return onlyRow<GuardState>(
    database,
    `select after_account as "afterAccount", ${unixMs('round_started_at')} as "roundStartedAt",
       ${unixMs('round_ended_at')} as "roundEndedAt", audited, unaudited, owed_ms as "owedMs" from book_guard`,
  );
}

/** Returns the promises that the last audits have found broken, the oldest first. */
export function listBookFaults(database: Queryable, limit: number) {
  return allRows<BookFault>(
    database,
    `select account_id as "accountId", promise, faults, row, found_at as "foundAt", seen_at as "seenAt"
     from book_faults order by found_at, account_id, promise limit $1`,
    [limit],
  );
}

/**
 * Audits the books of the next accounts, for as long as a minute allows; called every minute by one process at a time. Every account
 * is audited once a day, if the accounts need less than a hundredth of the day together. It reports what it finds, and repairs
 * nothing.
 */
export async function guardBooks(deps: GuardDeps): Promise<void> {
  const { database, clock } = deps;
  const state = await readGuard(database);
  state.owedMs = Math.max(0, state.owedMs - BUDGET_OF_MINUTE_MS);
  const now = clock.now();
  if (state.afterAccount === null && now - (state.roundStartedAt ?? Number.NEGATIVE_INFINITY) >= ROUND_MS)
    Object.assign(state, { afterAccount: 0, roundStartedAt: now, audited: 0, unaudited: 0 });
  while (state.afterAccount !== null && state.owedMs < BUDGET_OF_MINUTE_MS) {
    const startedAt = clock.now();
    const next = await firstRow<{ id: number }>(
      database,
      'select id from accounts where id > $1 order by id limit 1',
      [state.afterAccount],
    );
    if (next === null) Object.assign(state, { afterAccount: null, roundEndedAt: clock.now() });
    else {
      const isAudited = await auditAccount(deps, next.id);
      state.afterAccount = next.id;
      state[isAudited ? 'audited' : 'unaudited'] += 1;
    }
    state.owedMs += clock.now() - startedAt;
  }
  await keep(database, state);
}

/** @returns whether the audit came to its end. */
async function auditAccount(
  { database, clock, log, statementMs = STATEMENT_MS }: GuardDeps,
  accountId: number,
): Promise<boolean> {
  let faults: Fault[];
  const client = await database.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    await client.query(`set local statement_timeout = ${statementMs}`);
    faults = await auditBooks(client, { accountId, most: MOST_FAULTS });
    await client.query('commit');
    client.release();
  } catch (error) {
    // The end of the connection ends the transaction.
    client.release(error as Error);
    log.warn({ err: error, accountId }, 'failed to audit the books of an account');
    return false;
  }
  await report(database, accountId, faults, clock.now());
  for (const { promise, row } of firstOfEach(faults))
    log.error({ accountId, promise, row }, 'the books of an account are wrong');
  return true;
}

function firstOfEach(faults: readonly Fault[]): Fault[] {
  return [...new Map([...faults].reverse().map((fault) => [fault.promise, fault])).values()];
}

/** Replaces what is known about an account. The time at which a fault was found first stays. */
async function report(
  database: Queryable,
  accountId: number,
  faults: readonly Fault[],
  now: number,
): Promise<void> {
  const found = firstOfEach(faults).map(({ promise, row }) => ({
    promise,
    row,
    faults: faults.filter((fault) => fault.promise === promise).length,
  }));
  await database.query(
    `with found as (select * from jsonb_to_recordset($2) as f(promise text, row jsonb, faults bigint)),
     gone as (delete from book_faults where account_id = $1 and promise not in (select promise from found))
     insert into book_faults as b (account_id, promise, faults, row, found_at, seen_at)
     select $1, promise, faults, row, $3, $3 from found
     on conflict (account_id, promise) do update set faults = excluded.faults, row = excluded.row, seen_at = excluded.seen_at`,
    [accountId, JSON.stringify(found), new Date(now)],
  );
}

async function keep(database: Queryable, state: GuardState): Promise<void> {
  const { afterAccount, roundStartedAt, roundEndedAt, audited, unaudited, owedMs } = state;
  const time = (unixMs: number | null) => (unixMs === null ? null : new Date(unixMs));
  await database.query(
    `update book_guard set after_account = $1, round_started_at = $2, round_ended_at = $3,
       audited = $4, unaudited = $5, owed_ms = $6`,
    [afterAccount, time(roundStartedAt), time(roundEndedAt), audited, unaudited, owedMs],
  );
}
