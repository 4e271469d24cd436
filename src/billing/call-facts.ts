import type { Database } from '../platform/db/pool.ts';
import { allRows, unixMs } from '../platform/db/rows.ts';
import type { Call } from './calls.ts';
import type { GrantKind, Wallet } from './wallets.ts';

/** What a call took from one plan or pack. */
export interface Draw {
  kind: 'reserve' | 'charge' | 'settle' | 'release';
  source: GrantKind;
  sourceId: number;
  wallet: Wallet;
  /** The name of a plan; null for packs. */
  planName: string | null;
  units: number;
}

/** Returns the lines of the ledger with which a call was admitted and ended, in their order. */
export async function drawsOf(
  database: Database,
  accountId: number,
  { callId, acceptedAt, finishedAt }: Pick<Call, 'callId' | 'acceptedAt' | 'finishedAt'>,
): Promise<Draw[]> {
  const { rows } = await database.query<Draw>(
    // Lines are found by their times, as in a refund: the ledger has no index by call.
    `select l.kind, l.source, l.source_id as "sourceId", coalesce(s.wallet, k.wallet) as wallet, p.name as "planName", l.units
     from ledger l
     left join subscriptions s on l.source = 'subscription' and s.id = l.source_id
     left join plans p on p.id = s.plan_id
     left join packs k on l.source = 'pack' and k.id = l.source_id
     where l.account_id = $1 and l.at = any($2) and l.call_id = $3
       and l.kind in ('reserve', 'charge', 'settle', 'release')
     order by l.id`,
    [accountId, [acceptedAt, finishedAt ?? acceptedAt].map((at) => new Date(at)), callId],
  );
  return rows;
}

/** Calls of one operation that ended with the same error. */
export interface ErrorGroup {
  kind: string;
  operation: string;
  calls: number;
  /** How many of them are calls of batches. */
  inBatches: number;
  /** Unix milliseconds. */
  lastAt: number;
  /** The last of them, and what its caller received. */
  lastCallId: string;
  message: string;
}

/** The most failed calls that are grouped, the newest first. */
export const MOST_ERRORS_READ = 10_000;

/** Groups the errors of an account since a time, the newest group first. Cancelled calls are none. */
export function errorGroups(database: Database, accountId: number, since: number) {
  return allRows<ErrorGroup>(
    database,
    `select kind, operation, count(*) as calls, count(*) filter (where background) as "inBatches",
       ${unixMs('max(finished_at)')} as "lastAt", (array_agg(id order by finished_at desc))[1] as "lastCallId",
       (array_agg(message order by finished_at desc))[1] as message
     from (
       select id, operation, background, finished_at, error ->> 'kind' as kind, error ->> 'message' as message
       from finished_calls where account_id = $1 and error is not null and finished_at >= $2
       order by finished_at desc limit $3
     ) as failed
     where kind <> 'CANCELLED'
     group by kind, operation order by "lastAt" desc`,
    [accountId, new Date(since), MOST_ERRORS_READ],
  );
}
