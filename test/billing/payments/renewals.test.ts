import fc from 'fast-check';
import { v7 as uuid } from 'uuid';
import { expect } from 'vitest';
import { changePlan, setCancelled } from '../../../src/billing/payments/change-renewal.ts';
import { findOffer, type PlanOffer } from '../../../src/billing/payments/offers.ts';
import { PurchaseRefused } from '../../../src/billing/payments/purchase-rules.ts';
import { createPurchase, findPurchase, grantPurchase } from '../../../src/billing/payments/purchases.ts';
import { reconcileCheckouts, reconcileReversals } from '../../../src/billing/payments/stripe/events.ts';
import {
  type RenewingPlan,
  reconcileRenewals,
  renewingPlansOf,
} from '../../../src/billing/payments/sync-renewal.ts';
import { findTopUp, runTopUps, saveTopUp, startTopUp } from '../../../src/billing/payments/top-ups.ts';
import { endingPlans } from '../../../src/operator/account-facts.ts';
import { requestErasure } from '../../../src/operator/personal-data/erasure.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { expectBalancesOfLedger } from '../../support/balances.ts';
import { signedIn } from '../../support/customer.ts';
import { repetitions } from '../../support/repetitions.ts';
import type { Souk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';
import { openStripeStandIn, type StripeStandIn } from '../../support/stripe.ts';
import { openPaidService, type PaidService, stripeSettings } from '../../support/stripe-customer.ts';
import { subscriptionOf } from '../../support/stripe-model.ts';
import { fieldIn } from '../../support/visitor.ts';

const START = '2026-03-04T10:00:00.000Z';

const test = base
  .extend('stripe', { scope: 'file' }, async ({}, { onCleanup }): Promise<StripeStandIn> => {
    const stripe = await openStripeStandIn();
    onCleanup(() => stripe.close());
    return stripe;
  })
  .override('soukOptions', ({ stripe }) => ({
    workers: 0,
    pages: { payments: { way: stripeSettings(stripe), currency: 'eur' } },
  }));

let souk: Souk;
let stripe: StripeStandIn;
let paid: PaidService;
test.beforeAll(async ({ souk: opened, stripe: standIn }) => {
  [souk, stripe] = [opened, standIn];
  paid = await openPaidService(souk, stripe);
});
test.beforeEach(() => {
  stripe.model.cardWorks = true;
});

/** @returns an account that has bought a plan or a pack, and has received it. */
async function bought(kind: 'plan' | 'pack', code: string): Promise<number> {
  const accountId = await paid.account();
  await paid.buy(accountId, kind, code);
  await paid.deliver(paid.takeEvents());
  return accountId;
}

/** The subscriptions of an account as `[plan, start, end]`. */
async function granted(accountId: number): Promise<string[][]> {
  const { rows } = await souk.database.query<{ code: string; starts: Date; ends: Date }>(
    `select p.code, s.starts_at as starts, s.ends_at as ends from subscriptions s join plans p on p.id = s.plan_id
     where s.account_id = $1 order by s.starts_at`,
    [accountId],
  );
  return rows.map(({ code, starts, ends }) => [code, starts.toISOString(), ends.toISOString()]);
}

async function planOf(accountId: number) {
  const { rows } = await souk.database.query<{ state: string; graceUntil: Date | null }>(
    'select state, grace_until as "graceUntil" from renewing_plans where account_id = $1',
    [accountId],
  );
  return rows[0];
}

const later = (at: string, ms: number) => new Date(Date.parse(at) + ms).toISOString();
const monthMs = () => Date.parse('2026-04-04T10:00Z') - Date.parse(START);

test('a plan that was paid is granted for a month, and each renewal for another', async () => {
  const accountId = await paid.account();
  const { id } = await paid.buy(accountId, 'plan', 'pro');
  const start = new Date(souk.clock.now()).toISOString();
  await paid.deliver(paid.takeEvents());
  paid.pass(monthMs());
  await paid.deliver(paid.takeEvents());
  const [first, second] = await granted(accountId);
  expect([first, second?.slice(0, 2)]).toEqual([
    ['pro', start, later(start, monthMs())],
    ['pro', later(start, monthMs())],
  ]);
  expect(await planOf(accountId)).toMatchObject({ state: 'active' });
  const { rows } = await souk.database.query('select state from orders where id = $1', [id]);
  expect(rows).toEqual([{ state: 'granted' }]);
});

test('a month continues while the next payment is due, and ends when the next paid month starts', async () => {
  const accountId = await bought('plan', 'basic');
  const [[, start = '', end = ''] = []] = await granted(accountId);
  souk.clock.advance(monthMs() - 60_000);
  await reconcileRenewals(paid.context);
  expect(await granted(accountId)).toEqual([['basic', start, later(end, 7 * DAY_MS)]]);
  const { rows } = await souk.database.query(
    'select m.* from subscriptions s cross join lateral souk_month(s, $2) as m where account_id = $1',
    [accountId, new Date(Date.parse(end) + DAY_MS)],
  );
  // The month that is extended has no second allowance.
  expect(rows).toEqual([{ month_start: new Date(start), month_end: new Date(later(end, 7 * DAY_MS)) }]);
  paid.pass(3_600_000);
  await paid.deliver(paid.takeEvents());
  expect((await granted(accountId)).map(([, from]) => from)).toEqual([start, end]);
  expect((await granted(accountId))[0]?.[2]).toBe(end);
});

test('a plan whose payment fails is past due, and ends when its grace is over', async () => {
  const accountId = await bought('plan', 'pro');
  const [[, start = '', end = ''] = []] = await granted(accountId);
  stripe.model.cardWorks = false;
  paid.pass(Date.parse(end) - souk.clock.now());
  await paid.deliver(paid.takeEvents());
  const graceUntil = later(end, 7 * DAY_MS);
  expect(await planOf(accountId)).toEqual({ state: 'past_due', graceUntil: new Date(graceUntil) });
  expect(await granted(accountId)).toEqual([['pro', start, graceUntil]]);
  const { rows: mails } = await souk.database.query(
    `select kind, payload::json ->> 'amount' as amount, payload::json ->> 'endsAt' as ends from outbox where account_id = $1`,
    [accountId],
  );
  expect(mails).toEqual([{ kind: 'payment_failed', amount: '€149.00', ends: graceUntil }]);
  paid.pass(7 * DAY_MS);
  await reconcileRenewals(paid.context);
  await paid.deliver(paid.takeEvents());
  expect(await planOf(accountId)).toMatchObject({ state: 'ended' });
  const { model } = stripe;
  expect(model.get(paid.subscriptionOf(accountId)).status).toBe('canceled');
  expect(model.all('invoice').filter(({ status }) => status === 'open')).toEqual([]);
  expect(await granted(accountId)).toHaveLength(1);
});

test('a payment within grace grants the month that was due', async () => {
  const accountId = await paid.account();
  await paid.buy(accountId, 'plan', 'pro');
  stripe.model.cardWorks = false;
  paid.pass(monthMs() + 2 * DAY_MS);
  await paid.deliver(paid.takeEvents());
  stripe.model.cardWorks = true;
  for (const { id, status } of stripe.model.all('invoice'))
    if (status === 'open') stripe.model.payInvoice(id);
  await paid.deliver(paid.takeEvents());
  const [first, second] = await granted(accountId);
  expect(second?.[1]).toBe(first?.[2]);
  expect(await planOf(accountId)).toMatchObject({ state: 'active', graceUntil: null });
});

test('a paid month starts after a subscription that runs at the same time', async () => {
  const accountId = await paid.account();
  await paid.buy(accountId, 'plan', 'pro');
  const now = souk.clock.now();
  const endsAt = new Date(now + 10 * DAY_MS);
  await souk.database.query(
    `insert into subscriptions (account_id, wallet, plan_id, starts_at, ends_at)
     select $1, 'general', id, $2, $3 from plans where code = 'basic' and superseded_at is null`,
    [accountId, new Date(now - DAY_MS), endsAt],
  );
  await paid.deliver(paid.takeEvents());
  const [other, month] = await granted(accountId);
  expect([other?.[2], month?.slice(0, 2)]).toEqual([endsAt.toISOString(), ['pro', endsAt.toISOString()]]);
  expect(Date.parse(month?.[2] ?? '') - Date.parse(month?.[1] ?? '')).toBeGreaterThanOrEqual(28 * DAY_MS);
});

test('a plan that renews can be bought during a trial, and ends it', async () => {
  const accountId = await paid.account();
  const trial = { accountId, wallet: 'general', quantity: 1, months: 1, currency: 'eur' } as const;
  const taken = await createPurchase(
    souk.database,
    { ...trial, provider: 'stripe', purchaseId: uuid(), offer: await offer('trial') },
    souk.clock.now(),
  );
  await grantPurchase(souk.database, taken.id, souk.clock.now());
  paid.pass(5 * DAY_MS);
  const start = new Date(souk.clock.now()).toISOString();
  await paid.buy(accountId, 'plan', 'pro');
  await paid.deliver(paid.takeEvents());
  const [free, month] = await granted(accountId);
  expect([free?.[2], month?.slice(0, 2)]).toEqual([start, ['pro', start]]);
});

test.for([
  ['no purchase has created', {}],
  ['names a purchase in another form', { purchase: 'order-17' }],
] as const)('a subscription of Stripe that %s grants nothing', async ([_, metadata]) => {
  const accountId = await paid.account();
  await paid.buy(accountId, 'plan', 'pro');
  stripe.model.get(paid.subscriptionOf(accountId)).metadata = metadata;
  await paid.deliver(paid.takeEvents());
  expect(await granted(accountId)).toEqual([]);
});

test('a purchase whose events are lost is granted when its checkout is read again', async () => {
  const accountId = await paid.account();
  await paid.buy(accountId, 'plan', 'pro');
  await paid.buy(accountId, 'pack', 'units-10k');
  paid.takeEvents();
  souk.clock.advance(600_000);
  await reconcileCheckouts(paid.context);
  await reconcileCheckouts(paid.context);
  expect(await granted(accountId)).toHaveLength(1);
  expect(await packsOf(accountId)).toMatchObject([{ total: 10_000 }]);
});

test('of the open checkouts of plans in one wallet, the last one can be paid', async () => {
  const accountId = await paid.account();
  const [first, pack, last] = [
    await paid.order(accountId, 'plan', 'pro'),
    await paid.order(accountId, 'pack', 'units-10k'),
    await paid.order(accountId, 'plan', 'basic'),
  ];
  const sessions = [await paid.begin(first), await paid.begin(pack), await paid.begin(last)];
  expect(sessions.map((id) => stripe.model.get(id).status)).toEqual(['expired', 'open', 'open']);
  expect((await findPurchase(souk.database, first.id))?.state).toBe('cancelled');
  stripe.model.complete(sessions[2] ?? '');
  await paid.deliver(paid.takeEvents());
  expect((await granted(accountId)).map(([code]) => code)).toEqual(['basic']);
});

test('a checkout that starts after a later purchase has replaced its own is ended', async () => {
  const accountId = await paid.account();
  const first = await paid.order(accountId, 'plan', 'pro');
  const last = await paid.begin(await paid.order(accountId, 'plan', 'basic'));
  await expect(paid.begin(first)).rejects.toThrow(PurchaseRefused);
  expect(stripe.sessions().at(-1)?.status).toBe('expired');
  expect(stripe.model.get(last).status).toBe('open');
});

test('a plan is refused beside one that was just paid, which is granted', async () => {
  const accountId = await paid.account();
  stripe.model.complete(await paid.begin(await paid.order(accountId, 'plan', 'pro')));
  await expect(paid.begin(await paid.order(accountId, 'plan', 'basic'))).rejects.toThrow('was just paid');
  expect((await granted(accountId)).map(([code]) => code)).toEqual(['pro']);
});

test('a plan that renews is refused while the erasure of the account is planned', async () => {
  const accountId = await paid.account();
  await requestErasure(souk.database, accountId, souk.clock.now());
  await expect(paid.order(accountId, 'plan', 'pro')).rejects.toThrow('This account will be deleted');
  expect((await paid.order(accountId, 'pack', 'units-10k')).state).toBe('pending');
});

test('a checkout that could not be ended is ended before the next one starts', async () => {
  const accountId = await paid.account();
  const first = await paid.begin(await paid.order(accountId, 'plan', 'pro'));
  stripe.failNext = 3;
  await expect(paid.begin(await paid.order(accountId, 'plan', 'basic'))).rejects.toThrow('out of order');
  stripe.failNext = 0;
  await paid.begin(await paid.order(accountId, 'plan', 'basic'));
  expect(stripe.model.get(first).status).toBe('expired');
});

test('a checkout whose events are lost is read again, however many others are open', async () => {
  const accountId = await paid.account();
  await paid.buy(accountId, 'pack', 'units-10k');
  paid.takeEvents();
  const crowd = await paid.account();
  souk.clock.advance(1_000);
  await souk.database.query(
    `insert into orders (id, account_id, kind, offer_code, offer_name, wallet, quantity, amount_cents, currency, provider,
       provider_ref, created_at, pack_units, pack_rate_limit_per_minute, pack_valid_days)
     select gen_random_uuid(), $1, 'pack', 'units-10k', 'Units', 'general', 1, 1500, 'eur', 'stripe', 'cs_test_x' || i, $2, 10000, 60, 365
     from generate_series(1, 250) as i`,
    [crowd, new Date(souk.clock.now())],
  );
  souk.clock.advance(600_000);
  await reconcileCheckouts(paid.context);
  expect(await packsOf(accountId)).toEqual([{ total: 10_000, left: 10_000 }]);
  await souk.database.query('delete from orders where account_id = $1', [crowd]);
});

async function renewingPlan(accountId: number): Promise<RenewingPlan> {
  const [plan] = await renewingPlansOf(souk.database, accountId);
  if (!plan) throw new Error('no renewing plan');
  return plan;
}

async function offer(code: string): Promise<PlanOffer> {
  return (await findOffer(souk.database, 'plan', code)) as PlanOffer;
}

test('a dearer plan starts a new month immediately, and a cheaper one with the next month', async () => {
  const accountId = await paid.account();
  await paid.buy(accountId, 'plan', 'pro');
  const start = new Date(souk.clock.now()).toISOString();
  await paid.deliver(paid.takeEvents());
  paid.pass(10 * DAY_MS);
  // A change that was planned does not lower the credit for the present month.
  await changePlan(paid.context, await renewingPlan(accountId), await offer('basic'));
  expect(await renewingPlan(accountId)).toMatchObject({ planCode: 'pro', nextPlanName: 'Basic' });
  await changePlan(paid.context, await renewingPlan(accountId), await offer('enterprise'));
  const changedAt = later(start, 10 * DAY_MS);
  expect((await granted(accountId)).map(([code, from]) => [code, from])).toEqual([
    ['pro', start],
    ['enterprise', changedAt],
  ]);
  expect((await granted(accountId))[0]?.[2]).toBe(changedAt);
  const { lines } = stripe.model.all('invoice').at(-1) as unknown as {
    lines: { data: { amount: number }[] };
  };
  const [credit] = lines.data;
  expect(credit?.amount).toBeLessThan(-8_000);

  await changePlan(paid.context, await renewingPlan(accountId), await offer('basic'));
  expect(await granted(accountId)).toHaveLength(2);
  paid.pass(monthMs());
  await paid.deliver(paid.takeEvents());
  expect((await granted(accountId)).at(-1)?.[0]).toBe('basic');
});

/** Uses units of the present month of an account. */
async function use(accountId: number, units: number): Promise<void> {
  const { rows } = await souk.database.query<{ id: number }>(
    `update subscriptions s set month_used = case when s.month_start = m.month_start then s.month_used else 0 end + $3,
       month_start = m.month_start, month_end = m.month_end
     from subscriptions o cross join lateral souk_month(o, $2) as m
     where o.account_id = $1 and o.starts_at <= $2 and o.ends_at > $2 and s.id = o.id returning s.id`,
    [accountId, new Date(souk.clock.now()), units],
  );
  // A line without a call, as of units that were taken back.
  await souk.database.query(
    `insert into ledger (account_id, at, kind, source, source_id, units) values ($1, $2, 'revoke', 'subscription', $3, $4)`,
    [accountId, new Date(souk.clock.now()), rows[0]?.id, units],
  );
}

/** The units of a month that an account has left, and their limit. */
async function monthOf(accountId: number) {
  const { rows } = await souk.database.query<{ limit: number; used: number }>(
    'select monthly_limit as "limit", month_used as used from souk_subscription_meters($1, $2)',
    [accountId, new Date(souk.clock.now())],
  );
  const { limit, used } = rows[0] ?? { limit: 0, used: 0 };
  return { limit, used, left: Math.max(0, limit - used) };
}

/** Creates a coupon, or the discount of an account, that ends some days from now. @returns its code. */
async function reduced(
  percent: number,
  days: number,
  of: { accountId?: number } = {},
): Promise<string | undefined> {
  const code = of.accountId === undefined ? `C-${uuid().slice(-12).toUpperCase()}` : null;
  const now = souk.clock.now();
  await souk.database.query(
    'insert into price_reductions (code, percent, account_id, created_at, ends_at) values ($1, $2, $3, $4, $5)',
    [code, percent, of.accountId ?? null, new Date(now), new Date(now + days * DAY_MS)],
  );
  return code ?? undefined;
}

/** What the invoices of an account's plan have taken, the earliest first. */
async function paidCents(accountId: number): Promise<number[]> {
  const { rows } = await souk.database.query<{ cents: number }>(
    'select amount_cents as cents from stripe_payments where account_id = $1 order by ends_at',
    [accountId],
  );
  return rows.map(({ cents }) => cents);
}

test('a coupon lowers the months of a plan that begin before its end, and later ones cost the list price at which it was bought', async () => {
  const accountId = await paid.account();
  const { amountCents } = await paid.buy(accountId, 'plan', 'basic', 3, await reduced(33, 40));
  expect(amountCents).toBe(5_829);
  await paid.deliver(paid.takeEvents());
  await souk.database.query("update plans set price_cents = 9900 where code = 'basic'");
  expect(await renewingPlan(accountId)).toMatchObject({
    amountCents: 5_829,
    listCents: 8_700,
    reduction: expect.stringMatching(/^Coupon C-.*: 33 % off$/),
  });
  for (let month = 0; month < 2; month += 1) {
    paid.pass(31 * DAY_MS);
    await paid.deliver(paid.takeEvents());
  }
  expect(await paidCents(accountId)).toEqual([5_829, 5_829, 8_700]);
  expect(await renewingPlan(accountId)).toMatchObject({ amountCents: 8_700, reduction: null });
  await souk.database.query("update plans set price_cents = 2900 where code = 'basic'");
});

test('a change of the plan has the discount of its time, and a plan that is kept has the terms of its purchase', async () => {
  const accountId = await paid.account();
  await paid.buy(accountId, 'plan', 'pro', 1, await reduced(10, 80));
  await paid.deliver(paid.takeEvents());
  await reduced(50, 20, { accountId });
  await souk.database.query("update plans set price_cents = 19900 where code = 'pro'");
  await changePlan(paid.context, await renewingPlan(accountId), await offer('basic'));
  // The month of the cheaper plan begins after the end of the discount.
  expect(await renewingPlan(accountId)).toMatchObject({ amountCents: 2_900, reduction: null });
  await changePlan(paid.context, await renewingPlan(accountId), await offer('pro'));
  expect(await renewingPlan(accountId)).toMatchObject({ amountCents: 13_410, nextPlanName: null });
  const start = souk.clock.now();
  const { periodEnd } = await renewingPlan(accountId);
  paid.pass(10 * DAY_MS);
  await changePlan(paid.context, await renewingPlan(accountId), await offer('enterprise'));
  await paid.deliver(paid.takeEvents());
  expect(await renewingPlan(accountId)).toMatchObject({ amountCents: 99_900, listCents: 99_900 });
  const [first, second] = await paidCents(accountId);
  // Half the price, less the paid price of the rest of the month.
  const left = (periodEnd.getTime() - souk.clock.now()) / (periodEnd.getTime() - start);
  expect([first, second]).toEqual([13_410, 49_950 - Math.round(13_410 * left)]);
  await souk.database.query("update plans set price_cents = 14900 where code = 'pro'");
});

test('a subscription whose first invoice has another amount than its purchase grants nothing', async () => {
  const accountId = await paid.account();
  const { id } = await paid.buy(accountId, 'plan', 'basic', 1, await reduced(20, 40));
  await souk.database.query('update orders set amount_cents = 1 where id = $1', [id]);
  await paid.deliver(paid.takeEvents());
  expect(await granted(accountId)).toEqual([]);
});

test('an automatic top-up has the discount of its account', async () => {
  const accountId = await bought('pack', 'units-10k');
  await reduced(40, 20, { accountId });
  const rule = { packCode: 'units-10k', thresholdUnits: 20_000, ceilingCents: 1_000, isOn: true };
  await saveTopUp(souk.database, accountId, rule, souk.clock.now());
  await runTopUps(paid.context);
  expect(await findTopUp(souk.database, accountId)).toMatchObject({ spentCents: 900, purchases: 1 });
});

test('an upgrade counts the units used beyond the time paid against the new month, with a line of the ledger', async () => {
  const accountId = await bought('plan', 'basic');
  await use(accountId, 30_000);
  const [[, start = '', end = ''] = []] = await granted(accountId);
  paid.pass((Date.parse(end) - Date.parse(start)) / 2);
  await changePlan(paid.context, await renewingPlan(accountId), await offer('pro'));
  expect(await monthOf(accountId)).toEqual({ limit: 300_000, used: 15_000, left: 285_000 });
  expect((await linesOf(accountId)).at(-1)).toEqual(['revoke', 15_000]);
  await expectBalancesOfLedger(souk, accountId);
  paid.pass(monthMs());
  await paid.deliver(paid.takeEvents());
  expect(await monthOf(accountId)).toMatchObject({ limit: 300_000, used: 0 });
});

test('no sequence of upgrades within a month gives more units than were paid for', async () => {
  const step = fc.record({ share: fc.constantFrom(0, 0.3, 1), days: fc.integer({ min: 0, max: 9 }) });
  await fc.assert(
    fc.asyncProperty(fc.tuple(step, step, step), async (steps) => {
      const accountId = await paid.account();
      let [units, paidFor] = [0, 0];
      for (const [i, code] of (['basic', 'pro', 'enterprise'] as const).entries()) {
        if (i === 0) await paid.buy(accountId, 'plan', code);
        else await changePlan(paid.context, await renewingPlan(accountId), await offer(code));
        await paid.deliver(paid.takeEvents());
        const { share, days } = steps[i] ?? { share: 1, days: 0 };
        const { limit, left } = await monthOf(accountId);
        const used = Math.floor(left * share);
        if (used > 0) await use(accountId, used);
        units += used;
        const [, from = '', to = ''] = (await granted(accountId)).at(-1) ?? [];
        paid.pass(days * DAY_MS + 1_000);
        const paidShare = (days * DAY_MS + 1_000) / (Date.parse(to) - Date.parse(from));
        paidFor += code === 'enterprise' ? limit : limit * paidShare;
      }
      expect(units).toBeLessThanOrEqual(Math.ceil(paidFor));
      await expectBalancesOfLedger(souk, accountId);
    }),
    { numRuns: repetitions(4) },
  );
});

test('a proration that the operator causes in the dashboard grants no month', async () => {
  const accountId = await bought('plan', 'basic');
  const months = await granted(accountId);
  paid.pass(DAY_MS);
  stripe.model.changeQuantity(paid.subscriptionOf(accountId), 2);
  await paid.deliver(paid.takeEvents());
  expect(await granted(accountId)).toEqual(months);
  paid.pass(monthMs());
  await paid.deliver(paid.takeEvents());
  expect(await granted(accountId)).toHaveLength(2);
});

test('a plan whose quantity the operator has changed in the dashboard is kept at its price of one', async () => {
  const accountId = await bought('plan', 'basic');
  const subscription = paid.subscriptionOf(accountId);
  stripe.model.changeQuantity(subscription, 3);
  await paid.deliver(paid.takeEvents());
  await changePlan(paid.context, await renewingPlan(accountId), await offer('basic'));
  paid.pass(monthMs());
  await paid.deliver(paid.takeEvents());
  expect(await paidCents(accountId)).toEqual([2_900, 3 * 2_900]);
});

test('requests about payments are limited for an account, and not for others', async () => {
  const [customer, other] = [await signedIn(souk, { plan: null }), await signedIn(souk, { plan: null })];
  const portal = { method: 'POST', path: '/account/portal' };
  await customer.visitor.get('/account/settings');
  await other.visitor.get('/account/settings');
  for (let i = 0; i < 28; i += 1) {
    const { html } = await customer.visitor.get('/account/settings');
    const _csrf = fieldIn(html, '_csrf');
    expect((await customer.visitor.send(portal.path, { _csrf })).status).toBe(303);
  }
  expect((await customer.visitor.get('/account/invoices')).status).toBe(200);
  expect((await customer.visitor.get('/account/invoices')).status).toBe(200);
  const asked = stripe.requests.length;
  const refused = await customer.visitor.get('/account/invoices');
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)]);
  expect(refused.text).toContain('Too many requests about payments.');
  expect((await customer.visitor.post('/account/portal', {})).status).toBe(429);
  const form = { orderId: uuid(), kind: 'pack', code: 'units-10k' };
  expect((await customer.visitor.post('/account/checkout', form)).status).toBe(429);
  expect(stripe.requests.length).toBe(asked);
  expect((await other.visitor.get('/account/invoices')).status).toBe(200);
});

test('the operator is reminded of plans that end within 7 days, but not of those that renew', async () => {
  const [renewing, cancelled] = [await bought('plan', 'pro'), await bought('plan', 'pro')];
  await setCancelled(paid.context, await renewingPlan(cancelled), true);
  paid.pass(monthMs() - 5 * DAY_MS);
  const ending = (await endingPlans(souk.database, souk.clock.now())).map(({ accountId }) => accountId);
  expect([ending.includes(renewing), ending.includes(cancelled)]).toEqual([false, true]);
});

test('a change whose payment is declined changes nothing', async () => {
  const accountId = await bought('plan', 'basic');
  stripe.model.cardWorks = false;
  const change = changePlan(paid.context, await renewingPlan(accountId), await offer('pro'));
  await expect(change).rejects.toThrow('declined');
  expect(await granted(accountId)).toHaveLength(1);
  expect(await renewingPlan(accountId)).toMatchObject({ planCode: 'basic', nextPlanName: null });
});

test('a change whose payment is declined keeps the change that was planned for the next month', async () => {
  const accountId = await bought('plan', 'pro');
  await reduced(50, 40, { accountId });
  paid.pass(DAY_MS);
  await changePlan(paid.context, await renewingPlan(accountId), await offer('basic'));
  const planned = { planCode: 'pro', nextPlanName: 'Basic', amountCents: 1_450 };
  expect(await renewingPlan(accountId)).toMatchObject(planned);
  stripe.model.cardWorks = false;
  const change = changePlan(paid.context, await renewingPlan(accountId), await offer('enterprise'));
  await expect(change).rejects.toThrow('declined');
  stripe.model.cardWorks = true;
  await paid.deliver(paid.takeEvents());
  expect(await renewingPlan(accountId)).toMatchObject(planned);
  paid.pass(monthMs());
  await paid.deliver(paid.takeEvents());
  expect(await paidCents(accountId)).toEqual([14_900, 1_450]);
});

test('an upgrade of a cancelled plan is credited with its present price, even after a change was planned', async () => {
  const accountId = await bought('plan', 'pro');
  await changePlan(paid.context, await renewingPlan(accountId), await offer('basic'));
  await setCancelled(paid.context, await renewingPlan(accountId), true);
  await changePlan(paid.context, await renewingPlan(accountId), await offer('enterprise'));
  expect(await paidCents(accountId)).toEqual([14_900, 99_900 - 14_900]);
});

test('a cancelled plan is not changed for a next month that it does not have', async () => {
  const { accountId, visitor } = await signedIn(souk, { plan: null });
  await paid.buy(accountId, 'plan', 'pro');
  await paid.deliver(paid.takeEvents());
  const { id } = await renewingPlan(accountId);
  const cancelled = await visitor.post(`/account/renewals/${id}/cancel`, {});
  expect(cancelled.text).toContain('Change to Enterprise');
  expect(cancelled.text).not.toContain('Change to Basic');
  const refused = await visitor.post(`/account/renewals/${id}/change`, { code: 'basic' });
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('Keep the plan first')]);
  await visitor.post(`/account/renewals/${id}/resume`, {});
  expect(await renewingPlan(accountId)).toMatchObject({ planCode: 'pro', nextPlanName: null });
});

test('a cancelled plan ends with its month, and one that is resumed renews', async () => {
  const [ends, stays] = [await bought('plan', 'pro'), await bought('plan', 'pro')];
  for (const id of [ends, stays]) await setCancelled(paid.context, await renewingPlan(id), true);
  expect((await planOf(stays))?.state).toBe('cancelling');
  await setCancelled(paid.context, await renewingPlan(stays), false);
  paid.pass(monthMs());
  await paid.deliver(paid.takeEvents());
  expect([(await planOf(ends))?.state, (await planOf(stays))?.state]).toEqual(['ended', 'active']);
  expect([(await granted(ends)).length, (await granted(stays)).length]).toEqual([1, 2]);
});

test('a customer sees, cancels and resumes the plan on its page, and no plan of another account', async () => {
  const { accountId, visitor } = await signedIn(souk, { plan: null });
  await paid.buy(accountId, 'plan', 'pro');
  await paid.deliver(paid.takeEvents());
  const { id } = await renewingPlan(accountId);
  const page = await visitor.get('/account/plans');
  expect(page.text).toContain('Your plan: Pro');
  expect(page.text).toContain('Next payment €149.00');
  expect((await visitor.post(`/account/renewals/${id}/cancel`, {})).text).toContain('Keep the plan');
  expect((await visitor.post(`/account/renewals/${id}/resume`, {})).text).toContain('Cancel the plan');
  const changed = await visitor.post(`/account/renewals/${id}/change`, { code: 'basic' });
  expect(changed.text).toContain('Next month Basic');
  expect((await visitor.get('/account/invoices')).text).toContain('Invoice');
  const other = await signedIn(souk, { plan: null });
  await other.visitor.get('/account/settings');
  expect((await other.visitor.post(`/account/renewals/${id}/cancel`, {})).status).toBe(404);
  expect((await planOf(accountId))?.state).toBe('active');
});

async function packsOf(accountId: number): Promise<{ total: number; left: number }[]> {
  const { rows } = await souk.database.query<{ total: number; left: number }>(
    'select total_units as total, remaining_units as left from packs where account_id = $1 order by id',
    [accountId],
  );
  return rows;
}

async function linesOf(accountId: number): Promise<unknown[]> {
  const { rows } = await souk.database.query<{ kind: string; units: number }>(
    `select kind, units from ledger where account_id = $1 and kind in ('revoke', 'restore') order by id`,
    [accountId],
  );
  return rows.map(({ kind, units }) => [kind, units]);
}

/** The payment that was made last. */
const lastPayment = () => stripe.model.all('payment_intent').at(-1)?.id ?? '';

test('a refund takes back its share of the unused units of its pack, and of no other', async () => {
  const accountId = await paid.account();
  await paid.buy(accountId, 'pack', 'units-10k');
  await paid.buy(accountId, 'pack', 'units-100k');
  await paid.deliver(paid.takeEvents());
  stripe.model.refund(lastPayment(), 6_000);
  await paid.deliver([...paid.takeEvents(), ...stripe.model.events.slice(-1)]);
  expect(await packsOf(accountId)).toEqual([
    { total: 10_000, left: 10_000 },
    { total: 100_000, left: 50_000 },
  ]);
  // 20,000 of the units are used, so a refund of the rest takes what is left.
  await souk.database.query(
    'update packs set remaining_units = 30000 where account_id = $1 and total_units = 100000',
    [accountId],
  );
  stripe.model.refund(lastPayment(), 6_000);
  await paid.deliver(paid.takeEvents());
  expect((await packsOf(accountId)).map(({ left }) => left)).toEqual([10_000, 0]);
  expect(await linesOf(accountId)).toEqual([
    ['revoke', 50_000],
    ['revoke', 30_000],
  ]);
});

test('a partial refund takes back its share of the units of the month, and a full refund ends the month', async () => {
  const accountId = await bought('plan', 'basic');
  stripe.model.refund(lastPayment(), 1_450);
  await paid.deliver(paid.takeEvents());
  expect(await linesOf(accountId)).toEqual([['revoke', 15_000]]);
  await expectBalancesOfLedger(souk, accountId);
  stripe.model.refund(lastPayment(), 1_450);
  await paid.deliver(paid.takeEvents());
  expect((await linesOf(accountId)).at(-1)).toEqual(['revoke', 15_000]);
  expect(Date.parse((await granted(accountId))[0]?.[2] ?? '')).toBeLessThanOrEqual(souk.clock.now() + 1_000);
});

test('a won dispute gives back the units and the plan that it took', async () => {
  const accountId = await bought('plan', 'pro');
  const before = await granted(accountId);
  souk.clock.advance(DAY_MS);
  const dispute = stripe.model.dispute(lastPayment());
  await paid.deliver(paid.takeEvents());
  expect(await granted(accountId)).not.toEqual(before);
  stripe.model.closeDispute(dispute.id, 'won');
  await paid.deliver(paid.takeEvents());
  expect(await granted(accountId)).toEqual(before);
  expect(await linesOf(accountId)).toEqual([
    ['revoke', 300_000],
    ['restore', 300_000],
  ]);
  await expectBalancesOfLedger(souk, accountId);
});

test('units are taken back once, although refunds and disputes are reported in any order, or before the payment', async () => {
  const report = fc.record({ pick: fc.nat(), times: fc.integer({ min: 1, max: 2 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(report, { maxLength: 8 }), fc.boolean(), async (picks, isWon) => {
      const accountId = await paid.account();
      await paid.buy(accountId, 'pack', 'units-10k');
      stripe.model.refund(lastPayment(), 300);
      const dispute = stripe.model.dispute(lastPayment());
      stripe.model.refund(lastPayment(), 300);
      stripe.model.closeDispute(dispute.id, isWon ? 'won' : 'lost');
      const events = paid.takeEvents();
      const sent = picks.flatMap(({ pick, times }) => events.slice(pick % events.length).slice(0, times));
      await Promise.all([paid.deliver(sent), paid.deliver(events.toReversed())]);
      const left = isWon ? 6_000 : 0;
      expect(await packsOf(accountId)).toEqual([{ total: 10_000, left }]);
      await expectBalancesOfLedger(souk, accountId);
    }),
    { numRuns: repetitions(4) },
  );
});

test('a refund whose event is lost is found by the next check', async () => {
  const accountId = await bought('pack', 'units-10k');
  stripe.model.refund(lastPayment(), 1_500);
  paid.takeEvents();
  await reconcileReversals(paid.context);
  expect(await packsOf(accountId)).toEqual([{ total: 10_000, left: 0 }]);
});

test('finds a refund whose event was lost for days, even if many other events precede it and one of them fails', async () => {
  const accountId = await bought('pack', 'units-10k');
  stripe.model.refund(lastPayment(), 1_500);
  await paid.buy(accountId, 'pack', 'units-10k');
  await paid.deliver(paid.takeEvents().filter(({ type }) => type !== 'charge.refunded'));
  const unreadable = lastPayment();
  stripe.model.refund(unreadable, 1_500);
  stripe.model.objects.delete(unreadable);
  for (let i = 0; i < 150; i += 1)
    stripe.model.report('charge.refunded', { id: `ch_other_${i}`, object: 'charge', payment_intent: null });
  paid.takeEvents();
  paid.pass(20 * DAY_MS);
  await reconcileReversals(paid.context);
  expect(await packsOf(accountId)).toEqual([
    { total: 10_000, left: 0 },
    { total: 10_000, left: 10_000 },
  ]);
});

/** @returns an account with a pack of 10,000 units and an automatic top-up. */
async function withTopUp(thresholdUnits: number, ceilingCents: number): Promise<number> {
  const accountId = await bought('pack', 'units-10k');
  const rule = { packCode: 'units-10k', thresholdUnits, ceilingCents, isOn: true };
  await saveTopUp(souk.database, accountId, rule, souk.clock.now());
  return accountId;
}

async function topUpOf(accountId: number) {
  const { isOn, stoppedReason, spentCents, purchaseId } = (await findTopUp(souk.database, accountId)) ?? {};
  return { isOn, stoppedReason, spentCents, purchaseId };
}

test('an automatic top-up buys packs up to its ceiling, one at a time', async () => {
  const accountId = await withTopUp(50_000, 4_000);
  const charges = stripe.model.all('charge').length;
  // Two processes that check at the same time, and further checks.
  await Promise.all([runTopUps(paid.context), runTopUps(paid.context)]);
  for (let i = 0; i < 4; i += 1) await runTopUps(paid.context);
  expect(stripe.model.all('charge').length - charges).toBe(2);
  expect(await packsOf(accountId)).toHaveLength(3);
  expect(await topUpOf(accountId)).toMatchObject({ isOn: true, spentCents: 3_000, purchaseId: null });
});

test('an automatic top-up whose payment fails is switched off with its reason and a mail', async () => {
  const accountId = await withTopUp(50_000, 4_000);
  stripe.model.cardWorks = false;
  const mailed: string[] = [];
  const notify: typeof paid.context.notify = async (_db, _account, { purchase }) =>
    void mailed.push(purchase);
  for (let i = 0; i < 3; i += 1) await runTopUps({ ...paid.context, notify });
  expect(mailed).toEqual(['10,000 units, automatic top-up']);
  expect(await packsOf(accountId)).toHaveLength(1);
  expect(await topUpOf(accountId)).toEqual({
    isOn: false,
    stoppedReason: 'The card was declined.',
    spentCents: 0,
    purchaseId: null,
  });
});

test('a top-up that was interrupted after its payment grants the pack of that payment', async () => {
  const accountId = await withTopUp(15_000, 9_000);
  const purchaseId = await startTopUp(souk.database, accountId, { currency: 'eur', now: souk.clock.now() });
  const customer = String(stripe.model.all('charge').at(-1)?.customer);
  stripe.model.pay(customer, 1_500, { metadata: { purchase: purchaseId } });
  const charges = stripe.model.all('charge').length;
  await runTopUps(paid.context);
  expect(stripe.model.all('charge')).toHaveLength(charges);
  expect(await packsOf(accountId)).toHaveLength(2);
});

test('a customer switches the automatic top-up on, with a ceiling of at least one pack', async () => {
  const { accountId, visitor } = await signedIn(souk, { plan: null });
  await visitor.get('/account/top-up');
  const form = { packCode: 'units-10k', thresholdUnits: '500', ceiling: '10', isOn: 'on' };
  expect((await visitor.post('/account/top-up', form)).text).toContain('must be at least the price');
  expect((await visitor.post('/account/top-up', { ...form, ceiling: '40' })).text).toContain('On.');
  expect(await findTopUp(souk.database, accountId)).toMatchObject({ isOn: true, ceilingCents: 4_000 });
  const _csrf = fieldIn((await visitor.get('/account/top-up')).html, '_csrf');
  expect((await visitor.send('/account/portal', { _csrf })).headers.location).toBe(`${stripe.url}/portal`);
});

test('paid invoices are granted once, although events arrive in any order, are repeated or get lost', async () => {
  const order = fc.array(fc.record({ pick: fc.nat(), times: fc.integer({ min: 0, max: 2 }) }), {
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(
      order,
      fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
      async (picks, cardWorks) => {
        stripe.model.cardWorks = true;
        const accountId = await paid.account();
        await paid.buy(accountId, 'plan', 'basic');
        paid.pass(600_000);
        await reconcileCheckouts(paid.context);
        for (const works of cardWorks) {
          stripe.model.cardWorks = works;
          paid.pass(monthMs());
        }
        const events = paid.takeEvents();
        const sent = picks.flatMap(({ pick, times }) => {
          const event = events[pick % events.length];
          return event ? Array<typeof event>(times).fill(event) : [];
        });
        // Stripe sends events at the same time.
        await Promise.all([
          paid.deliver(sent.slice(0, sent.length / 2)),
          paid.deliver(sent.slice(sent.length / 2)),
        ]);
        souk.clock.advance(600_000);
        await reconcileRenewals(paid.context);
        const id = paid.subscriptionOf(accountId);
        const invoices = stripe.model
          .all('invoice')
          .filter((one) => one.status === 'paid' && subscriptionOf(one) === id);
        expect(await granted(accountId)).toHaveLength(invoices.length);
      },
    ),
    { numRuns: repetitions(4) },
  );
});
