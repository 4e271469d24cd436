import { ensureAccount } from '../../../src/accounts/accounts.ts';
import { createKey } from '../../../src/accounts/authentication.ts';
import { grantPack, grantSubscription, type Plan, upsertPlan } from '../../../src/billing/grants.ts';
import type { Wallet } from '../../../src/billing/wallets.ts';
import type { Database } from '../../../src/platform/db/pool.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';

export interface SoakAccount {
  accountId: number;
  name: string;
  key: string;
}

interface Profile {
  name: string;
  subscriptions?: (Partial<Plan> & { wallet?: Wallet })[];
  packs?: { wallet?: Wallet; units: number; rate: number }[];
}

/** Accounts without limits, and accounts that soon reach each kind of limit. */
const PROFILES: readonly Profile[] = [
  { name: 'unlimited', subscriptions: [{}] },
  { name: 'unlimited-off-peak', subscriptions: [{ wallet: 'off_peak' }] },
  { name: 'tight-minute', subscriptions: [{ minuteLimit: 25 }] },
  { name: 'tight-day', subscriptions: [{ dailyLimit: 120 }] },
  { name: 'month-then-packs', subscriptions: [{ monthlyLimit: 60 }], packs: [{ units: 400, rate: 1000 }] },
  { name: 'packs', packs: [30, 70, 500].map((units) => ({ units, rate: 1000 })) },
  { name: 'slow-packs', packs: [{ units: 5000, rate: 20 }] },
  {
    name: 'everything',
    subscriptions: [{ wallet: 'off_peak', dailyLimit: 50 }, { dailyLimit: 200 }],
    packs: [
      { wallet: 'off_peak', units: 40, rate: 200 },
      { units: 60, rate: 300 },
    ],
  },
];

/** One account of each kind, `rounds` times over. */
export async function createSoakAccounts(database: Database, rounds: number): Promise<SoakAccount[]> {
  const accounts: SoakAccount[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const profile of PROFILES) {
      accounts.push(await createAccount(database, profile, `${profile.name}-${round}`));
    }
  }
  return accounts;
}

/** Kinds of accounts that create batches. */
const BATCH_PROFILES = new Set(['unlimited', 'tight-minute', 'packs']);

/** Accounts that create only batches and schedules. */
export async function createBatchAccounts(database: Database): Promise<SoakAccount[]> {
  const accounts: SoakAccount[] = [];
  for (const profile of PROFILES.filter(({ name }) => BATCH_PROFILES.has(name))) {
    accounts.push(await createAccount(database, profile, `${profile.name}-batches`));
  }
  return accounts;
}

async function createAccount(database: Database, profile: Profile, name: string): Promise<SoakAccount> {
  const now = Date.now();
  const accountId = await ensureAccount(database, `${name}@soak.example`, name, now);
  for (const [i, { wallet = 'general', ...limits }] of (profile.subscriptions ?? []).entries()) {
    const unlimited = { minuteLimit: null, dailyLimit: null, monthlyLimit: null };
    const planId = await upsertPlan(database, {
      code: `${profile.name}-${i}`,
      name: 'Soak',
      ...unlimited,
      ...limits,
    });
    const [startsAt, endsAt] = [new Date(now - DAY_MS), new Date(now + 30 * DAY_MS)];
    await grantSubscription(database, { accountId, wallet, planId, quantity: 1, startsAt, endsAt });
  }
  for (const [i, { wallet = 'general', units, rate }] of (profile.packs ?? []).entries()) {
    const [validFrom, validUntil] = [new Date(now - DAY_MS), new Date(now + (30 + i) * DAY_MS)];
    const pack = { accountId, wallet, units, rateLimitPerMinute: rate, validFrom, validUntil };
    await grantPack(database, pack, now);
  }
  return { accountId, name, key: await createKey(database, accountId, now) };
}
