import type { Queryable } from '../../platform/db/pool.ts';
import type { Wallet } from '../wallets.ts';
import type { RenewalState } from './apply-subscription.ts';

/** A renewing plan of an account, as it was last read from Stripe. Amounts are in cents. */
export interface RenewingPlan {
  /** The id of Stripe's subscription. */
  id: string;
  accountId: number;
  wallet: Wallet;
  state: RenewalState;
  planName: string;
  planCode: string;
  planId: number;
  /** The price of the plan per month, for the wallet `general` and a quantity of 1. */
  priceCents: number;
  /** The plan of the next month, if a change is planned. */
  nextPlanName: string | null;
  quantity: number;
  /** The price of the next month. */
  amountCents: number;
  currency: string;
  periodEnd: Date;
  graceUntil: Date | null;
}

/** Returns the renewing plans of an account, the newest first. Those that have ended come last. */
export async function renewingPlansOf(database: Queryable, accountId: number): Promise<RenewingPlan[]> {
  const { rows } = await database.query<RenewingPlan>(
    `select r.id, r.account_id as "accountId", r.wallet, r.state, p.name as "planName", p.code as "planCode",
       p.id as "planId", coalesce(p.price_cents, 0) as "priceCents", n.name as "nextPlanName", r.quantity, r.amount_cents as "amountCents", o.currency,
       r.period_end as "periodEnd", r.grace_until as "graceUntil"
     from renewing_plans r
     join plans p on p.id = r.plan_id
     left join plans n on n.id = r.next_plan_id
     join orders o on o.id = r.purchase_id
     where r.account_id = $1 order by r.state = 'ended', r.period_end desc limit 20`,
    [accountId],
  );
  return rows;
}
