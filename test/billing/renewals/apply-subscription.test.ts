import fc from 'fast-check';
import type Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import {
  applySubscription,
  EXTEND_BEFORE_MS,
  productOfPlan,
} from '../../../src/billing/payments/renewals.ts';
import { type PaidPeriod, readFacts, type StripeFacts } from '../../../src/billing/payments/sync-renewal.ts';
import { monthsAfter } from '../../../src/platform/calendar.ts';
import { DAY_MS } from '../../../src/platform/durations.ts';
import { StripeModel, type StripeObject, subscriptionOf } from '../../support/stripe-model.ts';

const START = Date.UTC(2026, 0, 31, 12);
const GRACE_MS = 7 * DAY_MS;

const MARCH: PaidPeriod = {
  invoiceId: 'in_march',
  amountCents: 2_900,
  listCents: 2_900,
  reducedCents: 2_900,
  planId: 1,
  quantity: 1,
  paymentIntentId: null,
  from: Date.UTC(2026, 2, 1),
  to: Date.UTC(2026, 3, 1),
};

function facts(more: Partial<StripeFacts> = {}): StripeFacts {
  return {
    id: 'sub_1',
    purchaseId: null,
    status: 'running',
    isCancelling: false,
    planId: 1,
    quantity: 1,
    listCents: 2_900,
    reduction: null,
    paid: [MARCH],
    ...more,
  };
}

describe('a renewing plan', () => {
  test.each([
    ['active while Stripe renews it', {}, 0, { state: 'active', isExtended: false, graceUntil: null }],
    [
      'extended before its month ends, until its next payment',
      {},
      MARCH.to - EXTEND_BEFORE_MS,
      { state: 'active', isExtended: true },
    ],
    [
      'not extended if it is cancelled',
      { isCancelling: true },
      MARCH.to,
      { state: 'cancelling', isExtended: false },
    ],
    [
      'past due with its time of grace if a payment fails',
      { status: 'unpaid' },
      MARCH.to,
      { state: 'past_due', graceUntil: MARCH.to + GRACE_MS, isOverdue: false },
    ],
    [
      'past due until the last moment of grace',
      { status: 'unpaid' },
      MARCH.to + GRACE_MS - 1,
      { state: 'past_due', isOverdue: false },
    ],
    [
      'over when its grace is over',
      { status: 'unpaid' },
      MARCH.to + GRACE_MS,
      { state: 'ended', isOverdue: true },
    ],
    ['over when Stripe has ended it', { status: 'ended' }, 0, { state: 'ended', isOverdue: false }],
    ['of another plan from the next month on', { planId: 2 }, 0, { planId: 1, nextPlanId: 2 }],
  ] as const)('is %s', (_, more, now, expected) => {
    expect(applySubscription(new Set(), facts(more), { now, graceMs: GRACE_MS })).toMatchObject(expected);
  });

  test('grants nothing before its first invoice is paid', () => {
    expect(applySubscription(new Set(), facts({ paid: [] }), { now: 0, graceMs: 0 })).toBeNull();
  });
});

const PLANS = [
  [1, 2_900],
  [2, 14_900],
  [3, 99_900],
] as const;

function priceData(nth: number) {
  const [id, cents] = PLANS[nth] ?? PLANS[0];
  return { currency: 'eur', product: productOfPlan(id), unit_amount: String(cents) };
}

function subscribed(model: StripeModel): string {
  for (const [id] of PLANS) model.add('product', 'prod', {}, productOfPlan(id));
  const customer = model.add('customer', 'cus', {}).id;
  const params = {
    line_items: { 0: { quantity: '1', price_data: priceData(0) } },
    subscription_data: { metadata: { purchase: 'p' } },
  };
  const session = model.add('checkout.session', 'cs', {
    status: 'open',
    mode: 'subscription',
    customer,
    params,
  });
  return String(model.complete(session.id).subscription);
}

const paidInvoices = (model: StripeModel): StripeObject[] =>
  model.all('invoice').filter(({ status }) => status === 'paid');

function read(model: StripeModel, id: string): StripeFacts {
  const invoices = paidInvoices(model).filter((one) => subscriptionOf(one) === id);
  return readFacts(
    model.get(id) as unknown as Stripe.Subscription,
    invoices.toReversed() as unknown as Stripe.Invoice[],
  );
}

/** What can happen to a subscription, by the customer, the operator or time. */
const ACTIONS: Readonly<Record<string, (model: StripeModel, id: string) => void>> = {
  'a day passes': (model) => model.runTo(model.now * 1000 + DAY_MS),
  'a month passes': (model) => model.runTo(monthsAfter(new Date(model.now * 1000), 1).getTime()),
  'the card fails': (model) => Object.assign(model, { cardWorks: false }),
  'the card works': (model) => Object.assign(model, { cardWorks: true }),
  'Stripe tries again': (model) => {
    for (const { id, status } of model.all('invoice')) if (status === 'open') model.payInvoice(id);
  },
  upgrade: (model, id) => {
    if (model.cardWorks)
      model.update(id, { items: { 0: { price_data: priceData(2) } }, billing_cycle_anchor: { type: 'now' } });
  },
  downgrade: (model, id) => void model.update(id, { items: { 0: { price_data: priceData(1) } } }),
  cancel: (model, id) => void model.update(id, { cancel_at_period_end: 'true' }),
  resume: (model, id) => void model.update(id, { cancel_at_period_end: 'false' }),
};

test('grants each paid invoice once, although events are repeated or get lost', () => {
  const step = fc.record({
    action: fc.constantFrom(...Object.keys(ACTIONS)),
    // 0: all events of the step are lost.
    events: fc.integer({ min: 0, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const model = new StripeModel(START);
      const id = subscribed(model);
      const granted: PaidPeriod[] = [];
      const receive = () => {
        const known = new Set(granted.map(({ invoiceId }) => invoiceId));
        const changes = applySubscription(known, read(model, id), {
          now: model.now * 1000,
          graceMs: GRACE_MS,
        });
        granted.push(...(changes?.grants ?? []));
        return changes;
      };
      for (const { action, events } of steps) {
        if (model.get(id).status !== 'canceled') ACTIONS[action]?.(model, id);
        for (let i = 0; i < events; i += 1) receive();
      }
      const last = receive();
      const paid = paidInvoices(model);
      expect(granted.map(({ invoiceId }) => invoiceId).sort()).toEqual(paid.map((one) => one.id).sort());
      expect(last?.periodEnd).toBe(Math.max(...granted.map(({ to }) => to)));
      // A second reading finds nothing to do.
      expect(receive()).toEqual({ ...last, grants: [] });
    }),
    { numRuns: 300 },
  );
});

test('grants each paid month after the one before it; an upgrade starts a new month', () => {
  const model = new StripeModel(START);
  const id = subscribed(model);
  model.runTo(Date.UTC(2026, 2, 10, 12));
  ACTIONS.upgrade?.(model, id);
  const grants = read(model, id).paid.map(({ planId, from, to }) => [
    planId,
    new Date(from).toISOString(),
    new Date(to).toISOString(),
  ]);
  expect(grants.toReversed()).toEqual([
    [1, '2026-01-31T12:00:00.000Z', '2026-02-28T12:00:00.000Z'],
    [1, '2026-02-28T12:00:00.000Z', '2026-03-31T12:00:00.000Z'],
    [3, '2026-03-10T12:00:00.000Z', '2026-04-10T12:00:00.000Z'],
  ]);
});
