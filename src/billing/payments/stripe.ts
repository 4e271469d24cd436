import { type PaymentProvider, PaymentUnavailable, type StripeSettings } from './payment-port.ts';
import { beginCheckout } from './stripe/checkout.ts';
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
      return beginCheckout(context, purchase, addresses).catch((error: unknown) => {
        throw new PaymentUnavailable('Stripe cannot be reached or has rejected the request.', {
          cause: error,
        });
      });
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
