import { ensureAccount } from '../../../src/accounts/accounts.ts';
import { insertKey } from '../../../src/accounts/authentication.ts';
import { type KeySettings, WITHOUT_LIMITS } from '../../../src/accounts/key-settings.ts';
import { grantPack, grantSubscription, upsertPlan } from '../../../src/billing/grants.ts';
import type { Database } from '../../../src/platform/db/pool.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';
import type { History } from './history-file.ts';
import type { Granted, GrantedPack, GrantedSubscription, Wallet } from './judge/history.ts';

export interface SoakKey {
  keyId: number;
  key: string;
}

export interface SoakAccount extends SoakKey {
  accountId: number;
  name: string;
  /** Further keys: one with a cap, and others that are revoked one after the other. */
  others: SoakKey[];
  /** A key that may revoke them. */
  manager: string | null;
}

interface Profile {
  name: string;
  subscriptions?: (Partial<Omit<GrantedSubscription, 'id'>> & { wallet?: Wallet })[];
  packs?: { wallet?: Wallet; units: number; rate: number; seconds?: number }[];
  capDay?: number;
}

/** Accounts without limits, and accounts that soon reach each kind of limit. */
const PROFILES: readonly Profile[] = [
  { name: 'unlimited', subscriptions: [{}], capDay: 25 },
  { name: 'unlimited-off-peak', subscriptions: [{ wallet: 'off_peak' }], capDay: 25 },
  { name: 'tight-minute', subscriptions: [{ minuteLimit: 25 }], capDay: 25 },
  { name: 'tight-day', subscriptions: [{ dailyLimit: 120 }] },
  { name: 'month-then-packs', subscriptions: [{ monthlyLimit: 60 }], packs: [{ units: 400, rate: 1000 }] },
  { name: 'packs', packs: [30, 70, 500].map((units) => ({ units, rate: 1000 })) },
  { name: 'slow-packs', packs: [{ units: 5000, rate: 20 }] },
  // One pack ends while the run lasts.
  {
    name: 'ending-pack',
    packs: [
      { units: 5000, rate: 1000, seconds: 15 },
      { units: 5000, rate: 1000 },
    ],
  },
  {
    name: 'everything',
    subscriptions: [{ wallet: 'off_peak', dailyLimit: 50 }, { dailyLimit: 200 }],
    packs: [
      { wallet: 'off_peak', units: 40, rate: 200 },
      { units: 60, rate: 300 },
    ],
  },
];

/** The number of keys that an account may revoke. */
const REVOCABLE = 6;

type Window = Granted['window'];

/** One account of each kind, `rounds` times over. */
export async function createSoakAccounts(
  database: Database,
  history: History,
  { rounds, window }: { rounds: number; window: Window },
): Promise<SoakAccount[]> {
  const accounts: SoakAccount[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const profile of PROFILES) {
      accounts.push(await createAccount({ database, history, window }, profile, `${profile.name}-${round}`));
    }
  }
  return accounts;
}

/** Kinds of accounts that create batches. */
const BATCH_PROFILES = new Set(['unlimited', 'tight-minute', 'packs']);

/** Accounts that create only batches and schedules. */
export async function createBatchAccounts(
  database: Database,
  history: History,
  window: Window,
): Promise<SoakAccount[]> {
  const accounts: SoakAccount[] = [];
  for (const profile of PROFILES.filter(({ name }) => BATCH_PROFILES.has(name))) {
    accounts.push(await createAccount({ database, history, window }, profile, `${profile.name}-batches`));
  }
  return accounts;
}

async function createAccount(
  { database, history, window }: { database: Database; history: History; window: Window },
  profile: Profile,
  name: string,
): Promise<SoakAccount> {
  const now = Date.now();
  const accountId = await ensureAccount(database, `${name}@soak.example`, name, now);
  const subscriptions: GrantedSubscription[] = [];
  for (const [i, { wallet = 'general', ...some }] of (profile.subscriptions ?? []).entries()) {
    const limits = { minuteLimit: null, dailyLimit: null, monthlyLimit: null, ...some };
    const planId = await upsertPlan(database, { code: `${profile.name}-${i}`, name: 'Soak', ...limits });
    const [startsAt, endsAt] = [new Date(now - DAY_MS), new Date(now + 20 * DAY_MS)];
    const grant = { accountId, wallet, planId, quantity: 1, startsAt, endsAt };
    subscriptions.push({ id: await grantSubscription(database, grant), wallet, ...limits });
  }
  const packs: GrantedPack[] = [];
  for (const [i, { wallet = 'general', units, rate, seconds }] of (profile.packs ?? []).entries()) {
    const validUntil = now + (seconds === undefined ? (30 + i) * DAY_MS : seconds * 1_000);
    const [from, until] = [new Date(now - DAY_MS), new Date(validUntil)];
    const pack = { accountId, wallet, units, rateLimitPerMinute: rate, validFrom: from, validUntil: until };
    packs.push({ id: await grantPack(database, pack, now), wallet, units, rate, validUntil });
  }
  const keyWith = async (settings: Partial<KeySettings> = {}): Promise<SoakKey> => {
    const all = { settings: { ...WITHOUT_LIMITS, ...settings }, now };
    const { id: keyId, key } = await insertKey(database, accountId, all);
    return { keyId, key };
  };
  const { capDay } = profile;
  const capped = capDay ? [await keyWith({ capDay })] : [];
  const revocable = capDay ? await Promise.all(Array.from({ length: REVOCABLE }, () => keyWith())) : [];
  const caps = capDay ? capped.map(({ keyId }) => ({ keyId, capDay })) : [];
  history.note({ kind: 'account', account: accountId, name, window, subscriptions, packs, caps });
  const manager = capDay ? (await keyWith({ scopes: ['keys'] })).key : null;
  return { accountId, name, ...(await keyWith()), others: [...capped, ...revocable], manager };
}
