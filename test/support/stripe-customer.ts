import { v7 as uuid } from 'uuid';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { findOffer, type Offer } from '../../src/billing/payments/offers.ts';
import { createPurchase, findPurchase, type Purchase } from '../../src/billing/payments/purchases.ts';
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
  /** Creates a purchase, without its checkout. */
  order(
    accountId: number,
    kind: Offer['kind'],
    code: string,
    quantity?: number,
    coupon?: string,
  ): Promise<Purchase>;
  /** Starts the checkout of a purchase. @returns the id of its session. */
  begin(purchase: Purchase): Promise<string>;
  /** Buys an offer and completes its checkout. @returns the purchase. */
  buy(...order: Parameters<PaidService['order']>): Promise<Purchase>;
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

  const service: PaidService = {
    context,
    async account() {
      accounts += 1;
      model.runTo(clock.now());
      return ensureAccount(database, `payer-${accounts}@test.example`, 'Payer', clock.now());
    },
    async order(accountId, kind, code, quantity = 1, coupon = '') {
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
      return createPurchase(database, bought, clock.now());
    },
    async begin(purchase) {
      await beginCheckout(context, purchase, { paid: 'http://a.test', cancelled: 'http://a.test' });
      return (await findPurchase(database, purchase.id))?.providerRef ?? '';
    },
    async buy(...order) {
      const purchase = await service.order(...order);
      const { customer } = model.complete(await service.begin(purchase));
      customerIdOf.set(purchase.accountId, String(customer));
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
  return service;
}
