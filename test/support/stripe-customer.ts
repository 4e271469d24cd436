import { v7 as uuid } from 'uuid';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { findOffer, type Offer } from '../../src/billing/payments/offers.ts';
import { createPurchase, noteProviderRef, type Purchase } from '../../src/billing/payments/purchases.ts';
import { beginCheckout } from '../../src/billing/payments/stripe/checkout.ts';
import { type StripeContext, stripeContext } from '../../src/billing/payments/stripe/stripe-context.ts';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import { createLogger } from '../../src/platform/log.ts';
import type { Souk } from './souk.ts';
import { STRIPE_KEY, STRIPE_WEBHOOK_SECRET, type StripeStandIn } from './stripe.ts';
import type { StripeEvent } from './stripe-model.ts';

/** Payments of a service through the stand-in for Stripe, without its pages. */
export interface PaidService {
  context: StripeContext;
  /** Creates an account. @returns its number. */
  account(): Promise<number>;
  /** Buys an offer and completes its checkout. @returns the purchase. */
  buy(
    accountId: number,
    kind: Offer['kind'],
    code: string,
    quantity?: number,
    coupon?: string,
  ): Promise<Purchase>;
  /** The id of the account's last subscription at Stripe. */
  subscriptionOf(accountId: number): string;
  /** The events that were not taken yet. */
  takeEvents(): StripeEvent[];
  deliver(events: readonly StripeEvent[]): Promise<void>;
  /** Lets time pass for the service and for Stripe. */
  pass(ms: number): void;
}

export const stripeSettings = (stripe: StripeStandIn) => ({
  secretKey: STRIPE_KEY,
  webhookSecret: STRIPE_WEBHOOK_SECRET,
  baseUrl: stripe.url,
  currency: 'eur',
});

/** Sells the standard plans as plans that renew. */
export async function openPaidService(souk: Souk, stripe: StripeStandIn): Promise<PaidService> {
  const { database, clock } = souk;
  await ensureStandardPlans(database);
  await database.query('update plans set renews = true where price_cents > 0');
  const log = createLogger('silent');
  const context = stripeContext(stripeSettings(stripe), { database, now: clock.now, log });
  const { model } = stripe;
  model.now = clock.now() / 1000;
  const customerIdOf = new Map<number, string>();
  let taken = 0;
  let accounts = 0;

  return {
    context,
    async account() {
      accounts += 1;
      model.runTo(clock.now());
      return ensureAccount(database, `payer-${accounts}@test.example`, 'Payer', clock.now());
    },
    async buy(accountId, kind, code, quantity = 1, coupon = '') {
      const offer = await findOffer(database, kind, code);
      if (!offer) throw new Error(`no ${code}`);
      const details = {
        wallet: 'general',
        quantity,
        months: 1,
        currency: 'eur',
        provider: 'stripe',
      } as const;
      const bought = { purchaseId: uuid(), accountId, offer, coupon, ...details };
      const purchase = await createPurchase(database, bought, clock.now());
      const step = await beginCheckout(context, purchase, {
        paid: 'http://a.test',
        cancelled: 'http://a.test',
      });
      if (step.kind !== 'redirect') throw new Error(`expected a redirect, got ${step.kind}`);
      await noteProviderRef(database, purchase.id, step.ref);
      customerIdOf.set(accountId, String(model.complete(step.ref).customer));
      return purchase;
    },
    subscriptionOf(accountId) {
      const own = model.all('subscription').filter((one) => one.customer === customerIdOf.get(accountId));
      return own.at(-1)?.id ?? '';
    },
    takeEvents() {
      const events = model.events.slice(taken);
      taken = model.events.length;
      return events;
    },
    async deliver(events) {
      for (const { type, object } of events) {
        const { body, signature } = stripe.event(type, object);
        const headers = { 'content-type': 'application/json', 'stripe-signature': signature };
        const reply = await souk.clientOf('').raw('/payments/stripe', { method: 'POST', body, headers });
        if (reply.status !== 204) throw new Error(`${type} was answered with ${reply.status}`);
      }
    },
    pass(ms) {
      clock.advance(ms);
      model.runTo(clock.now());
    },
  };
}
