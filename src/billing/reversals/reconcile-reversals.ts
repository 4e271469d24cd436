import { handleStripeEvent } from '../payments/stripe/events.ts';
import type { StripeContext } from '../payments/stripe/stripe-context.ts';

const PAGE = 100;

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
