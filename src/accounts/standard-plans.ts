import type { Plan } from '../billing/grants.ts';
import type { Database } from '../db/pool.ts';

/** What there is to sell from the first day. */
const STANDARD_PLANS: readonly Plan[] = [
  { code: 'trial', name: 'Trial', minuteLimit: 10, dailyLimit: 100, monthlyLimit: 1_000 },
  { code: 'basic', name: 'Basic', minuteLimit: 60, dailyLimit: 2_000, monthlyLimit: 30_000 },
  { code: 'pro', name: 'Pro', minuteLimit: 300, dailyLimit: 20_000, monthlyLimit: 300_000 },
  { code: 'enterprise', name: 'Enterprise', minuteLimit: 1_200, dailyLimit: null, monthlyLimit: 5_000_000 },
];

/** Sees to it that the standard plans exist. One that an operator has changed stays as it is. */
export async function ensureStandardPlans(database: Database): Promise<void> {
  await database.query(
    `insert into plans (code, name, minute_limit, daily_limit, monthly_limit)
     select * from unnest($1::text[], $2::text[], $3::integer[], $4::bigint[], $5::bigint[])
     on conflict (code) do nothing`,
    [
      STANDARD_PLANS.map(({ code }) => code),
      STANDARD_PLANS.map(({ name }) => name),
      STANDARD_PLANS.map(({ minuteLimit }) => minuteLimit),
      STANDARD_PLANS.map(({ dailyLimit }) => dailyLimit),
      STANDARD_PLANS.map(({ monthlyLimit }) => monthlyLimit),
    ],
  );
}
