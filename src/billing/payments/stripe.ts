import { changePlan, setCancelled } from '../renewals/change-renewal.ts';
import { type PaymentProvider, PaymentUnavailable, type StripeSettings } from './payment-port.ts';
import { beginCheckout } from './stripe/checkout.ts';
import { listDocuments, portalAddress } from './stripe/documents.ts';
import { handleStripeEvent } from './stripe/events.ts';
import { type StripeDeps, stripeContext } from './stripe/stripe-context.ts';

export interface StripePayments extends PaymentProvider {
  /**
   * Handles a webhook message of Stripe. Stripe sends each message at least once, in any order.
   * @throws BadSignature if the message was not signed by Stripe.
   */
  handleEvent(body: Buffer, signature: string): Promise<void>;
}

/** A signature that is not made with our secret, or is too old. */
export class BadSignature extends Error {}

/** Stripe Checkout: one payment for each purchase, or a plan that renews. */
export function createStripePayments(settings: StripeSettings, deps: StripeDeps): StripePayments {
  const context = stripeContext(settings, deps);
  return {
    name: 'stripe',
    // In tests, customers are redirected to the stand-in for Stripe.
    checkoutOrigins: [
      'https://checkout.stripe.com',
      'https://billing.stripe.com',
      new URL(settings.baseUrl).origin,
    ],
    async begin(purchase, addresses) {
      if (purchase.amountCents === 0) return { kind: 'granted' };
      return beginCheckout(context, purchase, addresses).catch(unavailable);
    },
    renewals: {
      setCancelled: (plan, isCancelled) => setCancelled(context, plan, isCancelled).catch(unavailable),
      change: (plan, offer) => changePlan(context, plan, offer).catch(unavailable),
      documents: (accountId) => listDocuments(context, accountId).catch(unavailable),
      portal: (accountId, returnTo) => portalAddress(context, accountId, returnTo).catch(unavailable),
    },
    async handleEvent(body, signature) {
      const { webhooks } = await context.api();
      let event: ReturnType<typeof webhooks.constructEvent>;
      try {
        event = webhooks.constructEvent(body, signature, settings.webhookSecret);
      } catch (error) {
        throw new BadSignature('The signature is missing, wrong or too old.', { cause: error });
      }
      await handleStripeEvent(context, event);
    },
  };
}

/** @throws PaymentUnavailable */
function unavailable(error: unknown): never {
  const isDeclined = (error as { type?: unknown }).type === 'StripeCardError';
  const message = isDeclined
    ? 'The payment was declined. Change your card and try again.'
    : 'Stripe cannot be reached or has rejected the request.';
  throw new PaymentUnavailable(message, { cause: error });
}
