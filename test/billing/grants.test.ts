import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  findPlan,
  GrantRefused,
  grantPack,
  grantSubscription,
  listPlans,
  type SubscriptionGrant,
  upsertPlan,
} from '../../src/billing/grants.ts';
import { walletBalances } from '../../src/billing/statement.ts';
import { type Billing, openBilling } from '../support/billing.ts';

const NOW = Date.parse('2026-03-10T10:00:00.000Z');
const PLAN = { code: 'small', name: 'Small', minuteLimit: 10, dailyLimit: null, monthlyLimit: 500 };

let billing: Billing;
let planId: number;
beforeAll(async () => {
  billing = await openBilling({ start: NOW });
  planId = await upsertPlan(billing.database, PLAN);
});
afterAll(() => billing.close());

const inDays = (days: number) => new Date(NOW + days * 86_400_000);
const subscriptionOf = (accountId: number, from: number, to: number): SubscriptionGrant => ({
  accountId,
  wallet: 'general',
  planId,
  quantity: 1,
  startsAt: inDays(from),
  endsAt: inDays(to),
});

async function subscriptionsOf(accountId: number): Promise<number> {
  const { rowCount } = await billing.database.query('select from subscriptions where account_id = $1', [
    accountId,
  ]);
  return rowCount ?? 0;
}

test('a plan is found by its code, listed, and updated in place', async () => {
  expect(await findPlan(billing.database, 'small')).toEqual({
    id: planId,
    ...PLAN,
    priceCents: null,
    renews: false,
  });
  expect(await findPlan(billing.database, 'none')).toBeNull();
  expect(await upsertPlan(billing.database, { ...PLAN, name: 'Little' })).toBe(planId);
  expect(await listPlans(billing.database)).toEqual([
    { id: planId, ...PLAN, priceCents: null, renews: false, name: 'Little' },
  ]);
  await upsertPlan(billing.database, PLAN);
});

test.each([
  ['within it', 2, 3],
  ['around it', -5, 50],
  ['at its start', -5, 1],
  ['at its end', 9, 20],
])('refuses a subscription that overlaps another of its wallet %s', async (_, from, to) => {
  const { accountId } = await billing.account();
  await grantSubscription(billing.database, subscriptionOf(accountId, 0, 10));
  const refused = grantSubscription(billing.database, subscriptionOf(accountId, from, to));
  await expect(refused).rejects.toThrow(GrantRefused);
  await expect(refused).rejects.toThrow('from 2026-03-10T10:00:00.000Z to 2026-03-20T10:00:00.000Z');
  expect(await subscriptionsOf(accountId)).toBe(1);
});

test('accepts consecutive subscriptions, and overlapping ones of other wallets and accounts', async () => {
  const [{ accountId }, other] = [await billing.account(), await billing.account()];
  const grants = [
    subscriptionOf(accountId, 0, 10),
    subscriptionOf(accountId, 10, 20),
    { ...subscriptionOf(accountId, 0, 20), wallet: 'off_peak' as const },
    subscriptionOf(other.accountId, 0, 10),
  ];
  const ids = [];
  for (const grant of grants) ids.push(await grantSubscription(billing.database, grant));
  expect(new Set(ids).size).toBe(4);
});

test('accepts exactly one of several overlapping subscriptions granted concurrently', async () => {
  const { accountId } = await billing.account();
  const attempts = Array.from({ length: 6 }, (_, i) =>
    grantSubscription(billing.database, subscriptionOf(accountId, i, i + 10)),
  );
  const outcomes = await Promise.allSettled(attempts);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await subscriptionsOf(accountId)).toBe(1);
});

const pack = { wallet: 'off_peak' as const, units: 30, rateLimitPerMinute: 5 };
const validity = { validFrom: inDays(0), validUntil: inDays(30) };
const window = { start: '22:00', end: '06:00', timezone: 'Europe/Berlin' };

test('balances state the units that were granted and the units that are left', async () => {
  const account = await billing.account();
  const { accountId } = account;
  const id = await grantSubscription(billing.database, subscriptionOf(accountId, 0, 10));
  const packId = await grantPack(billing.database, { accountId, ...pack, ...validity, window }, NOW);
  await billing.admit(account, 7);
  expect(await walletBalances(billing.database, accountId, NOW)).toEqual({
    subscriptions: [
      {
        id,
        wallet: 'general',
        planName: 'Small',
        quantity: 1,
        endsAt: inDays(10).getTime(),
        dailyLimit: null,
        dayUsed: 7,
        monthlyLimit: 500,
        monthUsed: 7,
        monthEnd: inDays(10).getTime(),
      },
    ],
    packs: [
      {
        id: packId,
        wallet: 'off_peak',
        totalUnits: 30,
        remainingUnits: 30,
        rateLimitPerMinute: 5,
        validFrom: NOW,
        validUntil: inDays(30).getTime(),
        valid: true,
        window,
      },
    ],
  });
});

test.each([
  ['in an unknown time zone', { ...pack, ...validity, window: { ...window, timezone: 'Mars/Olympus' } }],
  ['of the general wallet with a window', { ...pack, ...validity, wallet: 'general' as const, window }],
  ['that ends before it begins', { ...pack, validFrom: inDays(2), validUntil: inDays(1) }],
])('refuses a pack %s and writes no ledger line', async (_, grant) => {
  const { accountId } = await billing.account();
  await expect(grantPack(billing.database, { accountId, ...grant }, NOW)).rejects.toThrow();
  const { rowCount } = await billing.database.query('select from ledger where account_id = $1', [accountId]);
  expect(rowCount).toBe(0);
});
