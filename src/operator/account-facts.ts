import type { Wallet } from '../billing/wallets.ts';
import type { Queryable } from '../platform/db/pool.ts';
import type { ErrorRecord } from '../platform/errors.ts';

/** A past, current or future subscription of an account. */
export interface SubscriptionFacts {
  id: number;
  wallet: Wallet;
  planName: string;
  planCode: string;
  quantity: number;
  startsAt: Date;
  endsAt: Date;
}

/** Returns the subscriptions of an account, the newest first. */
export async function subscriptionsOf(database: Queryable, accountId: number): Promise<SubscriptionFacts[]> {
  const { rows } = await database.query<SubscriptionFacts>(
    `select s.id, s.wallet, p.name as "planName", p.code as "planCode", s.quantity, s.starts_at as "startsAt",
       s.ends_at as "endsAt"
     from subscriptions s join plans p on p.id = s.plan_id
     where s.account_id = $1 order by s.starts_at desc, s.id desc limit 50`,
    [accountId],
  );
  return rows;
}

export interface RecentCall {
  id: string;
  operation: string;
  state: 'reserved' | 'settled' | 'released';
  unitsReserved: number;
  unitsCharged: number;
  acceptedAt: Date;
  background: boolean;
  error: ErrorRecord | null;
}

/** Returns the calls of an account, including those of batches, the newest first. */
export async function recentCalls(
  database: Queryable,
  accountId: number,
  limit: number,
): Promise<RecentCall[]> {
  const { rows } = await database.query<RecentCall>(
    `select id, operation, state, units_reserved as "unitsReserved", units_charged as "unitsCharged",
       accepted_at as "acceptedAt", background, error
     from calls where account_id = $1 order by id desc limit $2`,
    [accountId, limit],
  );
  return rows;
}

/** A subscription that ends soon, which no other follows and no payment provider renews. */
export interface EndingPlan {
  accountId: number;
  email: string;
  planName: string;
  wallet: Wallet;
  endsAt: Date;
}

const WITHIN_DAYS = 7;
const MOST = 200;

/** Returns the plans that end within 7 days, so that the operator can remind their customers, the first end first. */
export async function endingPlans(database: Queryable, now: number): Promise<EndingPlan[]> {
  const { rows } = await database.query<EndingPlan>(
    `select s.account_id as "accountId", a.email, p.name as "planName", s.wallet, s.ends_at as "endsAt"
     from subscriptions s join account_owners a on a.account_id = s.account_id join plans p on p.id = s.plan_id
     where s.starts_at <= $1 and s.ends_at > $1 and s.ends_at <= $1 + $2 * interval '1 day'
       and not exists (
         select 1 from subscriptions n
         where n.account_id = s.account_id and n.wallet = s.wallet and n.starts_at <= s.ends_at and n.ends_at > s.ends_at)
       and not exists (
         select 1 from renewing_plans r
         where r.account_id = s.account_id and r.wallet = s.wallet and r.state in ('active', 'past_due'))
     order by s.ends_at limit $3`,
    [new Date(now), WITHIN_DAYS, MOST],
  );
  return rows;
}

/** Open calls, pending purchases and recent failures, for the front page of the operator console. */
interface OpenWork {
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

export interface TokenReadingAt {
  at: Date;
  left: number;
  perMinute: number;
}

/** Returns the tokens left at a provider per minute, the oldest first. */
export async function tokenHistory(
  database: Queryable,
  provider: string,
  since: number,
): Promise<TokenReadingAt[]> {
  const { rows } = await database.query<TokenReadingAt>(
    `select minute as at, tokens_left as left, tokens_per_minute as "perMinute"
     from token_readings where provider = $1 and minute > $2 order by minute`,
    [provider, new Date(since)],
  );
  return rows;
}
