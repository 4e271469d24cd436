import type Stripe from 'stripe';
import { inTransaction } from '../../platform/db/transaction.ts';
import { cancelPurchase, findPurchase, grantPurchase, type Purchase } from '../payments/purchases.ts';
import { customerOf } from '../payments/stripe/customers.ts';
import type { StripeContext } from '../payments/stripe/stripe-context.ts';

/** Charges the purchase of a top-up, or reads how its payment has ended. Safe to repeat: a purchase has one payment. */
export async function chargeTopUp(context: StripeContext, purchaseId: string): Promise<void> {
  const purchase = await findPurchase(context.database, purchaseId);
  if (!purchase) return;
  if (purchase.state === 'granted') return end(context, purchase, null);
  const outcome = await pay(context, purchase);
  if (typeof outcome === 'string') return stop(context, purchase, outcome);
  // Some payments take time; a later round reads them again.
  if (outcome.status === 'processing') return;
  if (outcome.status !== 'succeeded') return stop(context, purchase, 'The payment needs your confirmation.');
  await grantPurchase(context.database, purchase.id, context.now(), outcome.id);
  await end(context, purchase, null);
}

/** @returns the payment, or why it cannot be made. */
async function pay(context: StripeContext, purchase: Purchase): Promise<Stripe.PaymentIntent | string> {
  const stripe = await context.api();
  const customer = await customerOf(context, purchase.accountId);
  // Stripe forgets idempotency keys after a day, so the payment is looked up first.
  const earlier = await stripe.paymentIntents.list({ customer, limit: 100 });
  const known = earlier.data.find(({ metadata }) => metadata.purchase === purchase.id);
  if (known) return known.status === 'requires_payment_method' ? 'The card was declined.' : known;
  if (purchase.state === 'cancelled') return 'The purchase was cancelled.';
  const cards = await stripe.paymentMethods.list({ customer, type: 'card', limit: 1 });
  const card = cards.data[0];
  if (!card) return 'No card is saved.';
  return stripe.paymentIntents
    .create(
      {
        ...{ customer, amount: purchase.amountCents, currency: purchase.currency, payment_method: card.id },
        ...{ off_session: true, confirm: true, metadata: { purchase: purchase.id } },
        description: `Souk ${purchase.offerName}, automatic top-up`,
      },
      { idempotencyKey: `top-up ${purchase.id}` },
    )
    .catch((error: unknown) => {
      if ((error as { type?: unknown }).type === 'StripeCardError') return 'The card was declined.';
      throw error;
    });
}

async function end(
  { database }: StripeContext,
  { id, accountId }: Purchase,
  reason: string | null,
): Promise<void> {
  await database.query(
    `update auto_top_ups set purchase_id = null, is_on = is_on and $3::text is null, stopped_reason = coalesce($3, stopped_reason)
     where account_id = $1 and purchase_id = $2`,
    [accountId, id, reason],
  );
}

/** Switches the top-up off, cancels its purchase, and tells the customer. Nothing was charged. */
async function stop(context: StripeContext, purchase: Purchase, reason: string): Promise<void> {
  const { accountId, id, amountCents, currency } = purchase;
  const amount = new Intl.NumberFormat('en', { style: 'currency', currency }).format(amountCents / 100);
  await inTransaction(context.database, async (client) => {
    await cancelPurchase(client, id, context.now());
    const { rowCount } = await client.query(
      `update auto_top_ups set purchase_id = null, is_on = false, stopped_reason = $3,
         spent_cents = greatest(spent_cents - $4, 0)
       where account_id = $1 and purchase_id = $2`,
      [accountId, id, reason, amountCents],
    );
    if (rowCount === 0) return;
    await context.notify(client, accountId, {
      ...{ reference: `top-up ${id}`, purchase: `${purchase.offerName}, automatic top-up`, amount },
      ...{ nextAttemptAt: null, endsAt: null },
    });
  });
}
