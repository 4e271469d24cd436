import type { Database } from '../platform/db/pool.ts';
import type { Plan } from './grants.ts';
import type { Wallet } from './wallets.ts';

/** The plans that a new installation sells. Prices are in cents of PAYMENT_CURRENCY per month. */
const STANDARD_PLANS: readonly (Plan & { priceCents: number })[] = [
  { code: 'trial', name: 'Trial', minuteLimit: 10, dailyLimit: 100, monthlyLimit: 1_000, priceCents: 0 },
  {
    code: 'basic',
    name: 'Basic',
    minuteLimit: 60,
    dailyLimit: 2_000,
    monthlyLimit: 30_000,
    priceCents: 2_900,
  },
  {
    code: 'pro',
    name: 'Pro',
    minuteLimit: 300,
    dailyLimit: 20_000,
    monthlyLimit: 300_000,
    priceCents: 14_900,
  },
  {
    code: 'enterprise',
    name: 'Enterprise',
    minuteLimit: 1_200,
    dailyLimit: null,
    monthlyLimit: 5_000_000,
    priceCents: 99_900,
  },
];

interface StandardPack {
  code: string;
  name: string;
  wallet: Wallet;
  units: number;
  rateLimitPerMinute: number;
  validDays: number;
  priceCents: number;
}

const STANDARD_PACKS: readonly StandardPack[] = [
  {
    code: 'units-10k',
    name: '10,000 units',
    wallet: 'general',
    units: 10_000,
    rateLimitPerMinute: 60,
    validDays: 365,
    priceCents: 1_500,
  },
  {
    code: 'units-100k',
    name: '100,000 units',
    wallet: 'general',
    units: 100_000,
    rateLimitPerMinute: 120,
    validDays: 365,
    priceCents: 12_000,
  },
  {
    code: 'night-100k',
    name: '100,000 off-peak units',
    wallet: 'off_peak',
    units: 100_000,
    rateLimitPerMinute: 120,
    validDays: 365,
    priceCents: 6_000,
  },
];

/** Inserts the standard plans and packs that do not exist. Changes by operators stay. */
export async function ensureStandardPlans(database: Database): Promise<void> {
  await insert(
    database,
    `insert into plans (code, name, minute_limit, daily_limit, monthly_limit, price_cents)
     select "code", "name", "minuteLimit", "dailyLimit", "monthlyLimit", "priceCents"
     from jsonb_to_recordset($1) as plan ("code" text, "name" text, "minuteLimit" integer, "dailyLimit" bigint,
       "monthlyLimit" bigint, "priceCents" integer)
     on conflict (code) where superseded_at is null do nothing`,
    STANDARD_PLANS,
  );
  await insert(
    database,
    `insert into pack_offers (code, name, wallet, units, rate_limit_per_minute, valid_days, price_cents)
     select "code", "name", "wallet"::wallet, "units", "rateLimitPerMinute", "validDays", "priceCents"
     from jsonb_to_recordset($1) as pack ("code" text, "name" text, "wallet" text, "units" bigint,
       "rateLimitPerMinute" integer, "validDays" integer, "priceCents" integer)
     on conflict (code) do nothing`,
    STANDARD_PACKS,
  );
}

async function insert(database: Database, text: string, offers: readonly object[]): Promise<void> {
  await database.query(text, [JSON.stringify(offers)]);
}
