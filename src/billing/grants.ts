import type { Database } from '../db/pool.ts';
import type { Wallet } from './wallets.ts';

/** Limits of null mean that the dimension is not limited. */
export interface Plan {
  code: string;
  name: string;
  /** Calls a minute. */
  minuteLimit: number | null;
  /** Units a day and a month. */
  dailyLimit: number | null;
  monthlyLimit: number | null;
}

/** Creates a plan, or brings the one of this code up to date. @returns its id. */
export async function upsertPlan(database: Database, plan: Plan): Promise<number> {
  const { rows } = await database.query<{ id: number }>(
    `insert into plans (code, name, minute_limit, daily_limit, monthly_limit) values ($1, $2, $3, $4, $5)
     on conflict (code) do update set name = excluded.name, minute_limit = excluded.minute_limit,
       daily_limit = excluded.daily_limit, monthly_limit = excluded.monthly_limit
     returning id`,
    [plan.code, plan.name, plan.minuteLimit, plan.dailyLimit, plan.monthlyLimit],
  );
  return rows[0]?.id ?? 0;
}

/** Gives an account a subscription. Two of one wallet must not overlap; that is for the caller to see to. */
export async function grantSubscription(
  database: Database,
  subscription: {
    accountId: number;
    wallet: Wallet;
    planId: number;
    quantity: number;
    startsAt: Date;
    endsAt: Date;
  },
): Promise<void> {
  const { accountId, wallet, planId, quantity, startsAt, endsAt } = subscription;
  await database.query(
    `insert into subscriptions (account_id, wallet, plan_id, quantity, starts_at, ends_at) values ($1, $2, $3, $4, $5, $6)`,
    [accountId, wallet, planId, quantity, startsAt, endsAt],
  );
}
