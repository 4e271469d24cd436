import type Stripe from 'stripe';
import { validate as isUuid } from 'uuid';
import type { Database } from '../../platform/db/pool.ts';
import type { Logger } from '../../platform/log.ts';
import { cancelOrder, findOrder, grantOrder } from './orders.ts';
import { type PaymentProvider, PaymentUnavailable, type StripeSettings } from './payment-port.ts';

export interface StripePayments extends PaymentProvider {
  /**
   * Takes what Stripe tells of payments. It is told at least once, in any order.
   * @throws BadSignature when it was not Stripe who told it.
   */
  hear(body: Buffer, signature: string): Promise<void>;
}

/** Not signed with our secret, or too long ago. */
export class BadSignature extends Error {}

/** Stripe Checkout: one payment for each order. */
export function createStripePayments(
  { secretKey, webhookSecret, baseUrl }: StripeSettings,
  deps: { database: Database; now: () => number; log: Logger },
): StripePayments {
  const { hostname, port, protocol } = new URL(baseUrl);
  // Loaded by whoever needs it first: it is large, and few installations have payments.
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
    // A stand-in sends customers to itself.
    checkoutOrigins: ['https://checkout.stripe.com', new URL(baseUrl).origin],
    async begin(order, addresses) {
      if (order.amountCents === 0) return { kind: 'granted' };
      try {
        const stripe = await api();
        const session = await stripe.checkout.sessions.create(
          {
            mode: 'payment',
            client_reference_id: order.id,
            line_items: [
              {
                quantity: 1,
                price_data: {
                  currency: order.currency,
                  unit_amount: order.amountCents,
                  product_data: { name: describe(order) },
                },
              },
            ],
            success_url: addresses.paid,
            cancel_url: addresses.cancelled,
          },
          // Whatever is sent again makes no second session.
          { idempotencyKey: order.id },
        );
        if (!session.url) throw new Error('a checkout session without an address');
        return { kind: 'redirect', url: session.url, ref: session.id };
      } catch (error) {
        throw new PaymentUnavailable('Stripe cannot be reached just now, or refuses.', { cause: error });
      }
    },
    async hear(body, signature) {
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
  // Some ways of paying take days: then this is told again when the money has come.
  if (session.payment_status === 'unpaid') return;
  const orderId = orderIdOf(session);
  const order = orderId && (await findOrder(database, orderId));
  if (!order) {
    log.warn({ session: session.id }, 'a payment for no order of ours');
    return;
  }
  if (session.amount_total !== order.amountCents || session.currency !== order.currency) {
    log.error({ session: session.id, orderId }, 'a payment of another amount than the order');
    return;
  }
  await grantOrder(database, orderId, now());
}

async function expired(
  { database, now }: { database: Database; now: () => number },
  session: Stripe.Checkout.Session,
): Promise<void> {
  const orderId = orderIdOf(session);
  if (orderId) await cancelOrder(database, orderId, now());
}

/** Others may use the same account of Stripe for something else. */
function orderIdOf({ client_reference_id: id }: Stripe.Checkout.Session): string | null {
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
