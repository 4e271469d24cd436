import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createFirstKey, isKeyDue } from '../../../src/accounts/account-keys.ts';
import { ensureAccount } from '../../../src/accounts/accounts.ts';
import { grantSubscription } from '../../../src/billing/grants.ts';
import {
  amountOf,
  findOffer,
  type Offer,
  type PlanOffer,
  savePlan,
} from '../../../src/billing/payments/offers.ts';
import { UNFINISHED_PURCHASES } from '../../../src/billing/payments/purchase-rules.ts';
import {
  cancelPurchase,
  createPurchase,
  findPurchase,
  grantPurchase,
  listPurchases,
  type NewPurchase,
  purgePurchases,
} from '../../../src/billing/payments/purchases.ts';
import { ensureStandardPlans } from '../../../src/billing/standard-plans.ts';
import { monthsAfter } from '../../../src/platform/calendar.ts';
import { type Database, openDatabase } from '../../../src/platform/db/pool.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createTestDatabase } from '../../support/database.ts';

const NOW = Date.UTC(2026, 0, 31, 12);

describe('a purchase', () => {
  let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
  let database: Database;
  let accountId: number;
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    database = openDatabase(testDatabase.url, createLogger('silent'));
    await ensureStandardPlans(database);
  });
  afterAll(async () => {
    await database.end();
    await testDatabase.drop();
  });
  beforeEach(async () => {
    accountId = await ensureAccount(database, `${randomUUID()}@test.example`, 'Buyer', NOW);
  });

  async function offer(kind: Offer['kind'], code: string): Promise<Offer> {
    const found = await findOffer(database, kind, code);
    if (!found) throw new Error(`no ${code}`);
    return found;
  }

  async function buy(offered: Offer, more: Partial<NewPurchase> = {}, now = NOW) {
    const purchase = {
      wallet: 'general',
      quantity: 1,
      months: 1,
      currency: 'usd',
      provider: 'manual',
    } as const;
    return createPurchase(
      database,
      { purchaseId: randomUUID(), accountId, offer: offered, ...purchase, ...more },
      now,
    );
  }

  async function subscriptions() {
    const { rows } = await database.query<{
      starts_at: Date;
      ends_at: Date;
      quantity: number;
      wallet: string;
    }>(
      'select starts_at, ends_at, quantity, wallet from subscriptions where account_id = $1 order by starts_at',
      [accountId],
    );
    return rows;
  }

  test('grants nothing before it is paid', async () => {
    const order = await buy(await offer('plan', 'pro'), { quantity: 2, months: 3 });
    expect(order).toMatchObject({ state: 'pending', amountCents: 14_900 * 6, subscriptionId: null });
    expect(await subscriptions()).toEqual([]);
    expect(await isKeyDue(database, accountId)).toBe(false);
    expect(await createFirstKey(database, accountId, NOW)).toBeNull();
  });

  test('is granted once if several processes report its payment at the same time', async () => {
    const order = await buy(await offer('pack', 'units-10k'), { quantity: 3 });
    const granted = await Promise.all(
      Array.from({ length: 8 }, () => grantPurchase(database, order.id, NOW)),
    );
    expect(new Set(granted.map((one) => one?.packId)).size).toBe(1);
    const { rows } = await database.query<{ remaining_units: number; valid_until: Date }>(
      'select remaining_units, valid_until from packs where account_id = $1',
      [accountId],
    );
    expect(rows).toEqual([{ remaining_units: 30_000, valid_until: new Date(NOW + 365 * DAY_MS) }]);
    const { rows: lines } = await database.query('select kind, units from ledger where account_id = $1', [
      accountId,
    ]);
    expect(lines).toEqual([{ kind: 'grant', units: 30_000 }]);
  });

  test('with an existing id returns the existing purchase, and is refused for another account', async () => {
    const purchaseId = randomUUID();
    const pro = await offer('plan', 'pro');
    const [first, second] = [await buy(pro, { purchaseId }), await buy(pro, { purchaseId, months: 12 })];
    expect(second).toEqual(first);
    const other = await ensureAccount(database, `${randomUUID()}@test.example`, 'Other', NOW);
    await expect(buy(pro, { purchaseId, accountId: other })).rejects.toThrow('belongs to another account');
    expect(await listPurchases(database, other, 100)).toEqual([]);
  });

  test('of a plan starts when the plan of the same wallet ends, and immediately in another wallet', async () => {
    const basic = await offer('plan', 'basic');
    for (const wallet of ['general', 'general', 'off_peak'] as const) {
      const order = await buy(basic, { wallet });
      await grantPurchase(database, order.id, NOW);
    }
    const [first, , later] = await subscriptions();
    expect(first?.ends_at).toEqual(new Date(Date.UTC(2026, 1, 28, 12)));
    expect(later?.starts_at).toEqual(first?.ends_at);
    expect((await subscriptions()).filter(({ wallet }) => wallet === 'off_peak')[0]?.starts_at).toEqual(
      new Date(NOW),
    );
  });

  test('of a plan follows the others that are paid at the same moment', async () => {
    const basic = await offer('plan', 'basic');
    const orders = [await buy(basic), await buy(basic), await buy(basic)];
    await Promise.all(orders.map(({ id }) => grantPurchase(database, id, NOW)));
    const [a, b, c] = await subscriptions();
    expect([b?.starts_at, c?.starts_at]).toEqual([a?.ends_at, b?.ends_at]);
  });

  test('of a free plan is allowed once for each account', async () => {
    const trial = await offer('plan', 'trial');
    const once = await buy(trial);
    await expect(buy(trial)).rejects.toThrow('You have already used Trial');
    await expect(buy(trial, { months: 2 })).rejects.toThrow('for one month');
    await cancelPurchase(database, once.id, NOW);
    expect((await buy(trial)).amountCents).toBe(0);
  });

  test.each([
    ['a paid plan that runs', 'basic', 0],
    ['a plan that the operator granted for later', 'basic', 40 * DAY_MS],
  ])('of a free plan is refused alongside %s', async (_name, code, delayMs) => {
    const { id } = (await offer('plan', code)) as PlanOffer;
    const startsAt = new Date(NOW + delayMs);
    const endsAt = new Date(NOW + delayMs + 30 * DAY_MS);
    const grant = { accountId, wallet: 'general', planId: id, quantity: 1, startsAt, endsAt } as const;
    await grantSubscription(database, grant);
    await expect(buy(await offer('plan', 'trial'))).rejects.toThrow(
      `Trial is for accounts without a plan. Your plan Basic runs until ${endsAt.toISOString()}.`,
    );
    expect((await buy(await offer('plan', 'trial'), { wallet: 'off_peak' })).state).toBe('pending');
  });

  test.each([
    ['a free plan, which it ends', 'trial', 0],
    ['a free plan that was taken in the same millisecond, which it ends', 'trial', 1],
    ['a paid plan, after which it starts', 'basic', null],
  ])('of a paid plan is possible during %s', async (_name, code, delayMs) => {
    const first = await buy(await offer('plan', code));
    await grantPurchase(database, first.id, NOW);
    const now = NOW + (delayMs === 0 ? 60_000 : 0);
    await grantPurchase(database, (await buy(await offer('plan', 'pro'), {}, now)).id, now);
    const [before, paid] = await subscriptions();
    const start = delayMs === null ? Date.UTC(2026, 1, 28, 12) : now + delayMs;
    expect([before?.ends_at, paid?.starts_at]).toEqual([new Date(start), new Date(start)]);
    expect(paid?.ends_at).toEqual(monthsAfter(new Date(start), 1));
  });

  test('of a paid plan ends a free plan of its own wallet only', async () => {
    await grantPurchase(database, (await buy(await offer('plan', 'trial'))).id, NOW);
    const later = NOW + 60_000;
    const pro = await buy(await offer('plan', 'pro'), { wallet: 'off_peak' }, later);
    await grantPurchase(database, pro.id, later);
    const [trial, paid] = await subscriptions();
    expect([trial?.ends_at, paid?.starts_at]).toEqual([monthsAfter(new Date(NOW), 1), new Date(later)]);
  });

  test('of a paid plan ends no plan that was paid and has become free since', async () => {
    const basic = (await offer('plan', 'basic')) as PlanOffer;
    await grantPurchase(database, (await buy(basic, { months: 3 })).id, NOW);
    const price = (priceCents: number) =>
      savePlan(database, { ...basic, priceCents, isOffered: true }, { isNew: false, now: NOW });
    await price(0);
    await grantPurchase(database, (await buy(await offer('plan', 'pro'))).id, NOW);
    await price(2_900);
    const paidUntil = monthsAfter(new Date(NOW), 3);
    const [kept, next] = await subscriptions();
    expect([kept?.ends_at, next?.starts_at]).toEqual([paidUntil, paidUntil]);
  });

  test('that was cancelled is granted if its payment arrives later', async () => {
    const order = await buy(await offer('pack', 'night-100k'));
    expect(await cancelPurchase(database, order.id, NOW, accountId + 1)).toBeNull();
    expect((await cancelPurchase(database, order.id, NOW, accountId))?.state).toBe('cancelled');
    expect(await cancelPurchase(database, order.id, NOW, accountId)).toBeNull();
    expect((await grantPurchase(database, order.id, NOW))?.state).toBe('granted');
    expect((await findPurchase(database, order.id))?.packId).not.toBeNull();
    expect(await cancelPurchase(database, order.id, NOW)).toBeNull();
  });

  test('of a free plan that was cancelled cannot be granted', async () => {
    const trial = await offer('plan', 'trial');
    const first = await buy(trial);
    await cancelPurchase(database, first.id, NOW);
    await grantPurchase(database, (await buy(trial)).id, NOW);
    expect((await grantPurchase(database, first.id, NOW))?.state).toBe('cancelled');
    expect(await subscriptions()).toHaveLength(1);
  });

  test('grants the units that were offered when it was created', async () => {
    const order = await buy(await offer('pack', 'units-100k'));
    await database.query("update pack_offers set units = 5 where code = 'units-100k'");
    await grantPurchase(database, order.id, NOW);
    const { rows } = await database.query('select total_units from packs where account_id = $1', [accountId]);
    expect(rows).toEqual([{ total_units: 100_000 }]);
  });

  test('is refused if 100 others are unpaid, until the cancelled ones are deleted after 30 days', async () => {
    const pack = await offer('pack', 'units-10k');
    const paid = await buy(pack);
    await grantPurchase(database, paid.id, NOW);
    const [waiting] = [await buy(pack)];
    for (let i = 1; i < UNFINISHED_PURCHASES; i += 1)
      await cancelPurchase(database, (await buy(pack)).id, NOW + 1);
    await expect(buy(pack)).rejects.toThrow('Your account has 100 purchases that were not paid.');
    await purgePurchases(database, NOW + 30 * DAY_MS);
    await expect(buy(pack)).rejects.toThrow('unpaid purchases are deleted after 30 days');
    const later = NOW + 30 * DAY_MS + 2;
    await purgePurchases(database, later);
    const kept = (await listPurchases(database, accountId, 1000)).map(({ id }) => id);
    // The operator can still confirm the pending one.
    expect(kept.toSorted()).toEqual([paid.id, waiting.id].toSorted());
    expect((await buy(pack, {}, later)).state).toBe('pending');
  });

  test('through Stripe that was never paid is deleted after 30 days', async () => {
    const { id } = await buy(await offer('pack', 'units-10k'), { provider: 'stripe' });
    await purgePurchases(database, NOW + 30 * DAY_MS);
    expect(await findPurchase(database, id)).not.toBeNull();
    await purgePurchases(database, NOW + 30 * DAY_MS + 1);
    expect(await findPurchase(database, id)).toBeNull();
  });

  test('above the highest amount is refused', async () => {
    const enterprise = await offer('plan', 'enterprise');
    await expect(buy(enterprise, { quantity: 100, months: 12 })).rejects.toThrow(
      'Split it into several purchases',
    );
  });

  test('that is the first of an account creates one key, also for concurrent requests', async () => {
    await grantPurchase(database, (await buy(await offer('plan', 'trial'))).id, NOW);
    const keys = await Promise.all([1, 2, 3].map(() => createFirstKey(database, accountId, NOW)));
    expect(keys.filter((key) => key !== null)).toHaveLength(1);
    await database.query('update api_keys set revoked_at = now() where account_id = $1', [accountId]);
    expect(await createFirstKey(database, accountId, NOW)).toBeNull();
  });

  test('of a plan that is unknown or not offered is impossible', async () => {
    expect(await findOffer(database, 'plan', 'nothing')).toBeNull();
    await database.query("update plans set is_offered = false where code = 'enterprise'");
    expect(await findOffer(database, 'plan', 'enterprise')).toBeNull();
  });
});

const plan = { kind: 'plan', priceCents: 2_999 } as PlanOffer;
test.each([
  [{ wallet: 'general', quantity: 1, months: 1 }, 2_999],
  [{ wallet: 'general', quantity: 3, months: 12 }, 107_964],
  [{ wallet: 'off_peak', quantity: 1, months: 1 }, 1_500],
  [{ wallet: 'off_peak', quantity: 2, months: 2 }, 6_000],
] as const)('a plan of 29.99 bought with %o costs %i cents', (how, cents) => {
  expect(amountOf(plan, how)).toBe(cents);
});
