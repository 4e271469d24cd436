import { randomBytes } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import { afterAll } from 'vitest';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { createKey, hashKey } from '../../src/accounts/authentication.ts';
import {
  type Admission,
  type AdmissionRequest,
  type Admissions,
  createAdmissions,
} from '../../src/billing/admission.ts';
import { grantPack, grantSubscription, type Plan, upsertPlan } from '../../src/billing/grants.ts';
import { createSettlements, type Ended, type Settlements } from '../../src/billing/settlement.ts';
import type { OffPeakWindow, Wallet } from '../../src/billing/wallets.ts';
import { type Database, openDatabase } from '../../src/platform/db/pool.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { type ErrorKind, SoukError, toRecord } from '../../src/platform/errors.ts';
import { createLogger } from '../../src/platform/log.ts';
import { TestClock } from './clock.ts';
import { createTestDatabase } from './database.ts';
import { PATIENCE } from './time.ts';

/** 19:00 to 07:00 in a zone without daylight saving: 11:00 to 23:00 UTC. */
export const OFF_PEAK: OffPeakWindow = { start: '19:00', end: '07:00', timezone: 'Asia/Shanghai' };

export interface SubscriptionGrant extends Partial<Omit<Plan, 'code' | 'name'>> {
  wallet?: Wallet;
  quantity?: number;
  startsAt?: Date;
  endsAt?: Date;
}

export interface PackGrant {
  wallet?: Wallet;
  units: number;
  rate?: number;
  validFrom?: Date;
  validUntil?: Date;
  window?: OffPeakWindow;
}

export interface BilledAccount {
  accountId: number;
  key: string;
  keyHash: Buffer;
}

/** Admission and settlement on a real database, without the rest of the service. */
export interface Billing {
  clock: TestClock;
  database: Database;
  admissions: Admissions;
  settlements: Settlements;
  /** Creates the admissions of another gateway process, whose clock may differ. */
  anotherGateway(now?: () => number): Admissions;
  account(sources?: { subscriptions?: SubscriptionGrant[]; packs?: PackGrant[] }): Promise<BilledAccount>;
  pack(account: BilledAccount, pack: PackGrant): Promise<number>;
  /** Creates a unique call, unless `fields` makes it identical to another one. */
  request(account: BilledAccount, units: number, details?: Partial<AdmissionRequest>): AdmissionRequest;
  admit(account: BilledAccount, units: number, details?: Partial<AdmissionRequest>): Promise<Admission>;
  settle(account: BilledAccount, callId: string, units: number): Promise<Ended | null>;
  release(account: BilledAccount, callId: string): Promise<Ended | null>;
  /** @returns the refunded units; null if the call was not settled. */
  refund(account: BilledAccount, callId: string): Promise<number | null>;
  close(): Promise<void>;
}

/** @param options.url a migrated database. Default: one that is dropped at the end. */
export async function openBilling(options: { start?: number; url?: string } = {}): Promise<Billing> {
  const { url, drop } = options.url ? { url: options.url, drop: async () => {} } : await createTestDatabase();
  const clock = new TestClock(options.start);
  const database = openDatabase(url, createLogger('silent'));
  const admissions = createAdmissions(database, clock.now, OFF_PEAK, PATIENCE.answerLimitMs);
  const settlements = createSettlements(database, clock.now);
  const ending = { answer: null, startedAt: null, attempts: 1 };

  const billing: Billing = {
    clock,
    database,
    admissions,
    settlements,
    anotherGateway: (now = clock.now) => createAdmissions(database, now, OFF_PEAK, PATIENCE.answerLimitMs),

    async account({ subscriptions = [], packs = [] } = {}) {
      const name = randomBytes(6).toString('hex');
      const accountId = await ensureAccount(database, `${name}@test.example`, name, clock.now());
      for (const [i, subscription] of subscriptions.entries()) {
        await grant(accountId, `${name}-${i}`, subscription);
      }
      for (const pack of packs) await grantUnitsTo(accountId, pack);
      const key = await createKey(database, accountId, clock.now());
      return { accountId, key, keyHash: hashKey(key) };
    },

    pack: ({ accountId }, pack) => grantUnitsTo(accountId, pack),

    request: ({ accountId, keyHash }, units, details = {}) => ({
      caller: { accountId, keyHash },
      callId: uuid(),
      operation: 'market.product',
      chargeId: randomBytes(16).toString('hex'),
      units,
      pool: 'market',
      deadlineAt: clock.now() + 60_000,
      input: { units },
      answer: null,
      background: false,
      ...details,
    }),
    admit: (account, units, details) => admissions.admit(billing.request(account, units, details)),
    settle: ({ accountId }, callId, units) =>
      settlements.end({ ...ending, accountId, callId, units, error: null }),
    release: ({ accountId }, callId) =>
      settlements.end({
        ...ending,
        accountId,
        callId,
        units: 0,
        error: toRecord(new SoukError('UPSTREAM_ERROR')),
      }),

    refund: ({ accountId }, callId) =>
      settlements.refund({ accountId, callId }, toRecord(new SoukError('UPSTREAM_ERROR'))),

    async close() {
      await database.end();
      await drop();
    },
  };

  async function grant(accountId: number, code: string, subscription: SubscriptionGrant): Promise<void> {
    const { minuteLimit = null, dailyLimit = null, monthlyLimit = null } = subscription;
    const planId = await upsertPlan(database, { code, name: 'Test', minuteLimit, dailyLimit, monthlyLimit });
    await grantSubscription(database, {
      accountId,
      planId,
      wallet: subscription.wallet ?? 'general',
      quantity: subscription.quantity ?? 1,
      startsAt: subscription.startsAt ?? new Date(clock.now() - DAY_MS),
      endsAt: subscription.endsAt ?? new Date(clock.now() + 365 * DAY_MS),
    });
  }

  async function grantUnitsTo(accountId: number, pack: PackGrant): Promise<number> {
    const { wallet = 'general', units, rate: rateLimitPerMinute = 1_000_000, window } = pack;
    const validFrom = pack.validFrom ?? new Date(clock.now() - DAY_MS);
    const validUntil = pack.validUntil ?? new Date(clock.now() + 90 * DAY_MS);
    const grant = { accountId, wallet, units, rateLimitPerMinute, validFrom, validUntil };
    return grantPack(database, { ...grant, ...(window ? { window } : {}) }, clock.now());
  }

  return billing;
}

/** Returns the error of a refused call. */
export async function refusalOf(call: Promise<unknown>): Promise<{
  kind: ErrorKind;
  metadata: Record<string, unknown> | undefined;
  retryAfterSeconds: number | undefined;
}> {
  try {
    await call;
  } catch (error) {
    if (error instanceof SoukError) {
      const { kind, metadata, retryAfterSeconds } = error;
      return { kind, metadata, retryAfterSeconds };
    }
    throw error;
  }
  throw new Error('the call was admitted');
}

/** The same, for a test file; it closes after its tests. */
export async function billingOfFile(options?: Parameters<typeof openBilling>[0]): Promise<Billing> {
  const billing = await openBilling(options);
  afterAll(() => billing.close());
  return billing;
}
