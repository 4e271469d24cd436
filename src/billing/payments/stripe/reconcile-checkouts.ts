import { NO_ID } from '../../../platform/db/rows.ts';
import { MINUTE_MS, WEEK_MS } from '../../../platform/durations.ts';
import { handleSession, handleStripeEvent } from './events.ts';
import type { StripeContext } from './stripe-context.ts';

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
