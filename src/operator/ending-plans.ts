import type { Wallet } from '../billing/wallets.ts';
import type { Queryable } from '../platform/db/pool.ts';

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
     from subscriptions s join accounts a on a.id = s.account_id join plans p on p.id = s.plan_id
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
