import type { Wallet } from '../billing/wallets.ts';
import type { Queryable } from '../platform/db/pool.ts';
import type { ErrorRecord } from '../platform/error-record.ts';

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
