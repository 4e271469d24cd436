import type Stripe from 'stripe';
import { validate as isUuid } from 'uuid';
import type { Database } from '../../platform/db/pool.ts';
import type { Logger } from '../../platform/log.ts';
import { type PaymentProvider, PaymentUnavailable, type StripeSettings } from './payment-port.ts';
import { cancelPurchase, findPurchase, grantPurchase } from './purchases.ts';

export interface StripePayments extends PaymentProvider {
  /**
   * Handles a webhook message of Stripe about a payment. Stripe sends each message at least once, in any order.
   * @throws BadSignature if the message was not signed by Stripe.
   */
  handleEvent(body: Buffer, signature: string): Promise<void>;
}

/** A signature that is not made with our secret, or is too old. */
export class BadSignature extends Error {}

/** Stripe Checkout: one payment for each purchase. */
export function createStripePayments(
  { secretKey, webhookSecret, baseUrl }: StripeSettings,
  deps: { database: Database; now: () => number; log: Logger },
): StripePayments {
  const { hostname, port, protocol } = new URL(baseUrl);
  // Loaded at the first use: it is large, and few installations take payments.
  const open = async () =>
    new (await import('stripe')).default(secretKey, {
      host: hostname,
      ...(port ? { port: Number(port) } : {}),
      protocol: protocol === 'http:' ? 'http' : 'https',
      timeout: 20_000,
      maxNetworkRetries: 2,
      telemetry: false,
    });
  let opened: Promise<Stripe> | undefined;
  const api = () => (opened ??= open());

  return {
    name: 'stripe',
    // In tests, customers are redirected to the stand-in for Stripe.
    checkoutOrigins: ['https://checkout.stripe.com', new URL(baseUrl).origin],
    async begin(purchase, addresses) {
      if (purchase.amountCents === 0) return { kind: 'granted' };
      try {
        const stripe = await api();
        const session = await stripe.checkout.sessions.create(
          {
            mode: 'payment',
            client_reference_id: purchase.id,
            line_items: [
              {
                quantity: 1,
                price_data: {
                  currency: purchase.currency,
                  unit_amount: purchase.amountCents,
                  product_data: { name: describe(purchase) },
                },
              },
            ],
            success_url: addresses.paid,
            cancel_url: addresses.cancelled,
          },
          // With this idempotency key, a repeated request creates no second session.
          { idempotencyKey: purchase.id },
        );
        if (!session.url) throw new Error('Stripe returned a checkout session without a URL');
        return { kind: 'redirect', url: session.url, ref: session.id };
      } catch (error) {
        throw new PaymentUnavailable('Stripe cannot be reached or has rejected the request.', {
          cause: error,
        });
      }
    },
    async handleEvent(body, signature) {
      const event = verified(await api(), body, signature, webhookSecret);
      switch (event.type) {
        case 'checkout.session.completed':
        case 'checkout.session.async_payment_succeeded':
          return paid(deps, event.data.object);
        case 'checkout.session.expired':
        case 'checkout.session.async_payment_failed':
          return expired(deps, event.data.object);
        default:
          return undefined;
      }
    },
  };
}

async function paid(
  { database, now, log }: { database: Database; now: () => number; log: Logger },
  session: Stripe.Checkout.Session,
): Promise<void> {
  // Some payment methods take days. Stripe sends another message when the payment succeeds.
  if (session.payment_status === 'unpaid') return;
  const purchaseId = purchaseIdOf(session);
  const purchase = purchaseId && (await findPurchase(database, purchaseId));
  if (!purchase) {
    log.warn({ session: session.id }, 'payment for an unknown purchase');
    return;
  }
  if (session.amount_total !== purchase.amountCents || session.currency !== purchase.currency) {
    log.error({ session: session.id, purchaseId }, 'amount of the payment differs from the purchase');
    return;
  }
  await grantPurchase(database, purchaseId, now());
}

async function expired(
  { database, now }: { database: Database; now: () => number },
  session: Stripe.Checkout.Session,
): Promise<void> {
  const purchaseId = purchaseIdOf(session);
  if (purchaseId) await cancelPurchase(database, purchaseId, now());
}

/** The Stripe account may have other uses, so an id can be absent or have another form. */
function purchaseIdOf({ client_reference_id: id }: Stripe.Checkout.Session): string | null {
  return id && isUuid(id) ? id : null;
}

function verified(stripe: Stripe, body: Buffer, signature: string, secret: string): Stripe.Event {
  try {
    return stripe.webhooks.constructEvent(body, signature, secret);
  } catch (error) {
    throw new BadSignature('The signature is missing, wrong or too old.', { cause: error });
  }
}

function describe({ offerName, quantity, months, wallet }: Parameters<PaymentProvider['begin']>[0]): string {
  const times = quantity > 1 ? ` × ${quantity}` : '';
  const period = months ? `, ${months} ${months === 1 ? 'month' : 'months'}` : '';
  return `Souk ${offerName}${times}${period}${wallet === 'off_peak' ? ', off-peak' : ''}`;
}
