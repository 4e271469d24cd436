import type Stripe from 'stripe';
import { validate as isUuid } from 'uuid';
import { NO_ID } from '../../../platform/db/rows.ts';
import { MINUTE_MS, WEEK_MS } from '../../../platform/durations.ts';
import { cancelPurchase, findPurchase, grantPurchase } from '../purchases.ts';
import { syncReversal } from '../reversals.ts';
import { idOf, syncRenewal } from '../sync-renewal.ts';
import type { StripeContext } from './stripe-context.ts';

/**
 * Handles an event of Stripe. Stripe sends each event at least once, in any order, so an event about a renewing plan only says
 * what to read again.
 */
export async function handleStripeEvent(context: StripeContext, event: Stripe.Event): Promise<void> {
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.expired':
      return handleSession(context, event.data.object);
    case 'checkout.session.async_payment_failed':
      return cancel(context, event.data.object);
    case 'invoice.paid':
    case 'invoice.payment_failed':
      return syncNamed(context, event.data.object.parent?.subscription_details?.subscription);
    case 'customer.subscription.created':
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted':
      return syncNamed(context, event.data.object);
    case 'charge.refunded':
    case 'charge.dispute.created':
    case 'charge.dispute.closed':
      return reversed(context, event.data.object.payment_intent);
    default:
      return undefined;
  }
}

async function reversed(context: StripeContext, payment: string | { id: string } | null): Promise<void> {
  const id = idOf(payment);
  if (id !== null) await syncReversal(context, id);
}

async function syncNamed(context: StripeContext, subscription: string | { id: string } | undefined) {
  const id = idOf(subscription ?? null);
  if (id !== null) await syncRenewal(context, id);
}

/** Grants the purchase if its checkout was paid, and cancels the purchase if its checkout has expired. */
async function handleSession(context: StripeContext, session: Stripe.Checkout.Session): Promise<void> {
  if (session.status === 'expired') return cancel(context, session);
  if (session.status !== 'open') return checkedOut(context, session);
}

async function checkedOut(context: StripeContext, session: Stripe.Checkout.Session): Promise<void> {
  if (session.mode === 'subscription') return syncNamed(context, session.subscription ?? undefined);
  // Some payment methods take days. Stripe sends another event when the payment succeeds.
  if (session.payment_status === 'unpaid') return;
  const { database, now, log } = context;
  const purchaseId = purchaseIdOf(session);
  const purchase = purchaseId && (await findPurchase(database, purchaseId));
  if (!purchase) {
    log.warn({ session: session.id }, 'payment for an unknown purchase');
    return;
  }
  // Taxes come on top of the price.
  const amountCents = session.amount_subtotal ?? session.amount_total;
  if (amountCents !== purchase.amountCents || session.currency !== purchase.currency) {
    log.error({ session: session.id, purchaseId }, 'amount of the payment differs from the purchase');
    return;
  }
  const paymentIntentId = idOf(session.payment_intent ?? null);
  await grantPurchase(database, purchaseId, now(), paymentIntentId);
  // A refund can be reported before the payment.
  await reversed(context, paymentIntentId);
}

async function cancel({ database, now }: StripeContext, session: Stripe.Checkout.Session): Promise<void> {
  const purchaseId = purchaseIdOf(session);
  if (purchaseId) await cancelPurchase(database, purchaseId, now());
}

/** The Stripe account may have other uses, so an id can be absent or have another form. */
function purchaseIdOf({ client_reference_id: id }: Stripe.Checkout.Session): string | null {
  return id && isUuid(id) ? id : null;
}

const PAGE = 100;

/** Events arrive within minutes. Pages of Stripe's checkout expire after a day, and some payment methods take days. */
const AFTER_MS = 10 * MINUTE_MS;
const UNTIL_MS = WEEK_MS;

/** Reads the checkouts of pending purchases from Stripe again, because events can be lost. */
export async function reconcileCheckouts(context: StripeContext): Promise<void> {
  const { database, now } = context;
  const [from, until] = [new Date(now() - UNTIL_MS), new Date(now() - AFTER_MS)];
  for (let after = NO_ID; ; ) {
    const { rows } = await database.query<{ id: string; ref: string }>(
      `select id, provider_ref as ref from orders
       where state = 'pending' and provider = 'stripe' and provider_ref like 'cs\\_%'
         and created_at between $1 and $2 and id > $3
       order by id limit $4`,
      [from, until, after, PAGE],
    );
    for (const { ref } of rows) await readCheckout(context, ref);
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.id ?? after;
  }
}

async function readCheckout(context: StripeContext, ref: string): Promise<void> {
  const stripe = await context.api();
  await stripe.checkout.sessions
    .retrieve(ref)
    .then((session) => handleSession(context, session))
    .catch((error: unknown) =>
      context.log.warn({ err: error, session: ref }, 'failed to read a checkout from Stripe'),
    );
}

/** As long as Stripe keeps events. */
const WITHIN_S = 30 * 86_400;

/** Handles the events about refunds and disputes that Stripe could not deliver. An event that fails delays no other. */
export async function reconcileReversals(context: StripeContext): Promise<void> {
  const { log, now } = context;
  const stripe = await context.api();
  const undelivered = stripe.events.list({
    types: ['charge.refunded', 'charge.dispute.created', 'charge.dispute.closed'],
    delivery_success: false,
    created: { gte: Math.floor(now() / 1000) - WITHIN_S },
    limit: PAGE,
  });
  for await (const event of undelivered)
    await handleStripeEvent(context, event).catch((error: unknown) =>
      log.warn({ err: error, event: event.id }, 'failed to handle an event of Stripe'),
    );
}
