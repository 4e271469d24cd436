import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ensureAccount } from '../../../src/accounts/accounts.ts';
import { findOffer, type Offer, savePlan } from '../../../src/billing/payments/offers.ts';
import {
  cancelPurchase,
  createPurchase,
  findPurchase,
  grantPurchase,
  type NewPurchase,
} from '../../../src/billing/payments/purchases.ts';
import {
  bestPrice,
  createReduction,
  endReduction,
  listReductions,
  type NewReduction,
  purgeReductions,
  type Reduction,
  reducedCents,
  type UsedReduction,
} from '../../../src/billing/payments/reductions.ts';
import { couponMonths } from '../../../src/billing/payments/stripe/checkout.ts';
import { ensureStandardPlans } from '../../../src/billing/standard-plans.ts';
import { type Database, openDatabase } from '../../../src/platform/db/pool.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createTestDatabase } from '../../support/database.ts';

const NOW = Date.UTC(2026, 0, 31, 12);

const ANY: NewReduction = {
  code: null,
  percent: null,
  amountCents: null,
  currency: null,
  offerKind: null,
  offerCode: null,
  accountId: null,
  maxUses: null,
  oncePerAccount: false,
  endsAt: new Date(NOW + 30 * DAY_MS),
};

const reduction: fc.Arbitrary<Reduction> = fc
  .record({
    id: fc.nat(),
    code: fc.constantFrom(null, 'SPRING20'),
    isPercent: fc.boolean(),
    percent: fc.integer({ min: 1, max: 100 }),
    amountCents: fc.integer({ min: 1, max: 2_000_000_000 }),
  })
  .map(({ id, code, isPercent, percent, amountCents }) => ({
    ...ANY,
    id,
    code,
    ...(isPercent ? { percent } : { amountCents, currency: 'usd' }),
  }));

describe('a reduced price', () => {
  test('is a whole number of cents from 0 to the list price, and the lowest that a reduction gives', () => {
    fc.assert(
      fc.property(fc.nat(100_000_000), fc.array(reduction, { maxLength: 5 }), (listCents, reductions) => {
        const { amountCents, reduction: best } = bestPrice(listCents, reductions);
        expect(Number.isSafeInteger(amountCents)).toBe(true);
        expect(amountCents).toBeGreaterThanOrEqual(0);
        expect(amountCents).toBeLessThanOrEqual(listCents);
        expect(amountCents).toBe(
          Math.min(listCents, ...reductions.map((one) => reducedCents(listCents, one))),
        );
        expect(best === null).toBe(amountCents === listCents);
        for (const one of reductions) {
          if (one.percent === null) continue;
          // A fraction of a cent is in favour of the customer, and less than a cent.
          const exact = (listCents * (100 - one.percent)) / 100;
          expect(exact - reducedCents(listCents, one)).toBeGreaterThanOrEqual(0);
          expect(exact - reducedCents(listCents, one)).toBeLessThan(1);
        }
      }),
    );
  });

  test.each([
    [999, { percent: 10, amountCents: null }, 899],
    [1, { percent: 1, amountCents: null }, 0],
    [2_900, { percent: 100, amountCents: null }, 0],
    [2_900, { percent: null, amountCents: 500 }, 2_400],
    [2_900, { percent: null, amountCents: 5_000 }, 0],
  ])('of %i cents with %j is %i', (list, by, expected) => {
    expect(reducedCents(list, by)).toBe(expected);
  });

  test('uses a discount rather than a coupon that is as good', () => {
    const [coupon, discount] = [
      { ...ANY, id: 1, code: 'TEN', percent: 10 },
      { ...ANY, id: 2, percent: 10 },
    ];
    expect(bestPrice(1_000, [coupon, discount]).reduction).toBe(discount);
  });

  test.each([
    ['2026-01-31T12:00:00Z', '2026-01-31T12:00:01Z', 1],
    ['2026-01-31T12:00:00Z', '2026-02-28T12:00:00Z', 1],
    ['2026-01-31T12:00:00Z', '2026-02-28T12:00:01Z', 2],
    ['2026-01-31T12:00:00Z', '2026-12-31T00:00:00Z', 11],
    ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00Z', 0],
  ])('from %s on holds until %s for %i months', (from, until, months) => {
    expect(couponMonths(new Date(from), new Date(from), new Date(until))).toBe(months);
  });

  test('lasts until the last month that it reduces begins, even if it is applied on the last day of a short month', () => {
    const [applied, from] = [new Date('2027-02-28T12:00Z'), new Date('2027-03-31T10:00Z')];
    expect(couponMonths(applied, from, new Date('2027-03-31T09:00Z'))).toBe(0);
    expect(couponMonths(applied, from, new Date('2027-04-15T00:00Z'))).toBe(2);
    expect(couponMonths(new Date('2027-03-05T12:00Z'), from, new Date('2027-04-15T00:00Z'))).toBe(1);
  });
});

describe('a purchase with a reduction', () => {
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
    accountId = await newAccount();
    await database.query(
      'update price_reductions set ends_at = created_at where account_id is null and code is null',
    );
  });

  const newAccount = () => ensureAccount(database, `${randomUUID()}@test.example`, 'Buyer', NOW);

  async function create(more: Partial<NewReduction>): Promise<UsedReduction> {
    const made = await inTransaction(database, (client) => createReduction(client, { ...ANY, ...more }, NOW));
    if ('fault' in made) throw new Error(`${made.field} ${made.fault}`);
    return made;
  }

  const newCode = () => `C-${randomUUID().slice(0, 12).toUpperCase()}`;

  async function offer(kind: Offer['kind'], code: string): Promise<Offer> {
    const found = await findOffer(database, kind, code);
    if (!found) throw new Error(`no ${code}`);
    return found;
  }

  async function buy(kind: Offer['kind'], code: string, more: Partial<NewPurchase> = {}, now = NOW) {
    const terms = { wallet: 'general', quantity: 1, months: 1, currency: 'usd', provider: 'manual' } as const;
    const purchase = {
      purchaseId: randomUUID(),
      accountId,
      offer: await offer(kind, code),
      ...terms,
      ...more,
    };
    return createPurchase(database, purchase, now);
  }

  const usesOf = async (id: number) =>
    (await listReductions(database, NOW)).find((one) => one.id === id)?.uses;

  test('has list price, reduction and paid price, which no later change touches', async () => {
    const coupon = await create({ code: newCode(), percent: 20 });
    const bought = await buy('plan', 'pro', { months: 3, coupon: ` ${coupon.code?.toLowerCase()} ` });
    const written = {
      listCents: 44_700,
      amountCents: 35_760,
      reduction: `Coupon ${coupon.code}: 20 % off`,
      reducedUntil: coupon.endsAt,
    };
    expect(bought).toMatchObject(written);
    const pro = await offer('plan', 'pro');
    if (pro.kind !== 'plan') throw new Error('no plan');
    const dearer = { ...pro, isOffered: true, priceCents: 99_900 };
    await savePlan(database, dearer, { isNew: false, now: NOW });
    await endReduction(database, coupon.id, NOW);
    await create({ percent: 50 });
    await purgeReductions(database, new Date(NOW + 401 * DAY_MS));
    expect(await grantPurchase(database, bought.id, NOW)).toMatchObject({ state: 'granted', ...written });
    await savePlan(database, { ...dearer, priceCents: 14_900 }, { isNew: false, now: NOW });
  });

  test('has the best of the coupon and the discounts of its account and of all', async () => {
    const coupon = (await create({ code: newCode(), amountCents: 500, currency: 'usd' })).code ?? '';
    await create({ percent: 10, offerKind: 'plan', offerCode: 'basic' });
    await create({ percent: 30, accountId, offerKind: 'plan', offerCode: 'pro' });
    await create({ percent: 90, accountId: await newAccount() });
    expect(await buy('plan', 'basic', { coupon })).toMatchObject({ amountCents: 2_400 });
    expect(await buy('plan', 'basic', { coupon, quantity: 3 })).toMatchObject({
      amountCents: 7_830,
      reduction: 'Discount: 10 % off',
    });
    expect(await buy('plan', 'pro', { coupon })).toMatchObject({ amountCents: 10_430 });
    const none = await buy('pack', 'units-10k');
    expect([none.listCents, none.amountCents, none.reduction]).toEqual([1_500, 1_500, null]);
    expect(
      await buy('plan', 'basic', { coupon }, NOW + 31 * DAY_MS).catch((error) => error.message),
    ).toContain('ended on 2026-03-02');
  });

  test.each<[string, Partial<NewReduction>, string]>([
    ['does not exist', {}, 'This coupon does not exist. Check its spelling.'],
    [
      'is for another offer',
      { code: newCode(), percent: 5, offerKind: 'plan', offerCode: 'pro' },
      'is for the plan Pro',
    ],
    [
      'has an amount of another currency',
      { code: newCode(), amountCents: 5, currency: 'eur' },
      'does not exist',
    ],
  ])('is refused and leaves nothing if the coupon %s', async (_name, given, message) => {
    if (given.code) await create(given);
    await expect(buy('plan', 'basic', { coupon: given.code ?? 'NOT-THERE' })).rejects.toThrow(message);
    expect((await database.query('select 1 from orders where account_id = $1', [accountId])).rowCount).toBe(
      0,
    );
  });

  test('is the last of a coupon for one of two accounts that buy at the same time', async () => {
    const { id, code } = await create({ code: newCode(), percent: 20, maxUses: 3 });
    const accounts = await Promise.all([1, 2, 3, 4, 5, 6].map(newAccount));
    const outcomes = await Promise.allSettled(
      accounts.map((buyer) => buy('plan', 'basic', { coupon: code ?? '', accountId: buyer })),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(String(outcome.reason)).toContain('has been used up');
    expect(await usesOf(id)).toBe(3);
  });

  test('gives the use of its coupon back when it is cancelled, and not when it is granted', async () => {
    const { id, code } = await create({ code: newCode(), percent: 20, maxUses: 1, oncePerAccount: true });
    const coupon = code ?? '';
    const first = await buy('pack', 'units-10k', { coupon });
    await expect(buy('pack', 'units-10k', { coupon })).rejects.toThrow(
      'not paid yet. Pay or cancel that one',
    );
    await cancelPurchase(database, first.id, NOW);
    expect(await usesOf(id)).toBe(0);
    const second = await buy('pack', 'units-10k', { coupon });
    await grantPurchase(database, second.id, NOW);
    await expect(buy('pack', 'units-10k', { coupon })).rejects.toThrow('which is valid once');
    await expect(buy('pack', 'units-10k', { coupon, accountId: await newAccount() })).rejects.toThrow(
      'used up',
    );
  });

  test('does not use a coupon if a discount is better', async () => {
    const { id, code } = await create({ code: newCode(), percent: 20, maxUses: 1 });
    await create({ percent: 25, accountId });
    expect(await buy('pack', 'units-10k', { coupon: code ?? '' })).toMatchObject({ amountCents: 1_125 });
    expect(await usesOf(id)).toBe(0);
  });

  test('to 0 does not renew, and is possible once, for one month and a quantity of 1', async () => {
    const coupon = (await create({ code: newCode(), percent: 100 })).code ?? '';
    await database.query("update plans set renews = true where code = 'pro'");
    const more = { coupon, provider: 'stripe' } as const;
    await expect(buy('plan', 'pro', { ...more, quantity: 2 })).rejects.toThrow('in a quantity of 1 only');
    const free = await buy('plan', 'pro', more);
    expect(free).toMatchObject({ amountCents: 0, listCents: 14_900, renews: false, months: 1 });
    await grantPurchase(database, free.id, NOW);
    await expect(buy('plan', 'pro', more)).rejects.toThrow('You have already had Pro for free');
    expect((await findPurchase(database, free.id))?.state).toBe('granted');
    await database.query("update plans set renews = false where code = 'pro'");
  });

  test('is not possible for a free offer with a coupon', async () => {
    const coupon = (await create({ code: newCode(), percent: 20 })).code ?? '';
    await expect(buy('plan', 'trial', { coupon })).rejects.toThrow('Trial is free, so it needs no coupon.');
  });

  test('keeps its price when its coupon is deleted, 400 days after the end', async () => {
    const { code } = await create({ code: newCode(), percent: 20 });
    const { id } = await buy('pack', 'units-10k', { coupon: code ?? '' });
    const end = ANY.endsAt.getTime();
    await purgeReductions(database, new Date(end + 400 * DAY_MS));
    expect((await listReductions(database, NOW)).some((one) => one.code === code)).toBe(true);
    await purgeReductions(database, new Date(end + 400 * DAY_MS + 1));
    expect((await listReductions(database, NOW)).some((one) => one.code === code)).toBe(false);
    expect(await findPurchase(database, id)).toMatchObject({
      amountCents: 1_200,
      reduction: `Coupon ${code}: 20 % off`,
    });
  });

  test('needs a coupon that is new, for an offer and an account that exist', async () => {
    const { code } = await create({ code: newCode(), percent: 20 });
    await expect(create({ code, percent: 30 })).rejects.toThrow('code is already the code of another coupon');
    await expect(create({ percent: 1, offerKind: 'pack', offerCode: 'no' })).rejects.toThrow('got pack no');
    await expect(create({ percent: 1, accountId: 999_999 })).rejects.toThrow('got 999999');
  });
});
