import { handleStripeEvent } from '../payments/stripe/events.ts';
import type { StripeContext } from '../payments/stripe/stripe-context.ts';

const MOST_AT_ONCE = 100;
const WITHIN_S = 86_400;

/** Handles the events about refunds and disputes of the last day that Stripe could not deliver. */
export async function reconcileReversals(context: StripeContext): Promise<void> {
  const stripe = await context.api();
  const undelivered = await stripe.events.list({
    types: ['charge.refunded', 'charge.dispute.created', 'charge.dispute.closed'],
    delivery_success: false,
    created: { gte: Math.floor(context.now() / 1000) - WITHIN_S },
    limit: MOST_AT_ONCE,
  });
  for (const event of undelivered.data) await handleStripeEvent(context, event);
}
