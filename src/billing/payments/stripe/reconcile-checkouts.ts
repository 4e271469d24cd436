import { handleSession } from './events.ts';
import type { StripeContext } from './stripe-context.ts';

const MOST_AT_ONCE = 100;

/** Events arrive within minutes. Pages of Stripe's checkout expire after a day, and some payment methods take days. */
const AFTER_MS = 10 * 60_000;
const UNTIL_MS = 7 * 86_400_000;

/** Reads the checkouts of pending purchases from Stripe again, because events can be lost. */
export async function reconcileCheckouts(context: StripeContext): Promise<void> {
  const { database, now, log, api } = context;
  const { rows } = await database.query<{ ref: string }>(
    `select provider_ref as ref from orders
     where state = 'pending' and provider = 'stripe' and provider_ref like 'cs\\_%'
       and created_at between $1 and $2
     order by created_at desc limit $3`,
    [new Date(now() - UNTIL_MS), new Date(now() - AFTER_MS), MOST_AT_ONCE],
  );
  if (rows.length === 0) return;
  const stripe = await api();
  for (const { ref } of rows)
    await stripe.checkout.sessions
      .retrieve(ref)
      .then((session) => handleSession(context, session))
      .catch((error: unknown) =>
        log.warn({ err: error, session: ref }, 'failed to read a checkout from Stripe'),
      );
}
