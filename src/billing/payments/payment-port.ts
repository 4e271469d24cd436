import { changePlan, setCancelled } from './change-renewal.ts';
import type { PlanOffer } from './offers.ts';
import { PurchaseRefused } from './purchase-rules.ts';
import type { ProviderName, Purchase } from './purchases.ts';
import { beginCheckout, listDocuments, portalAddress } from './stripe/checkout.ts';
import { handleStripeEvent } from './stripe/events.ts';
import { type StripeDeps, stripeContext } from './stripe/stripe-context.ts';
import type { RenewingPlan } from './sync-renewal.ts';

export interface PaymentSettings {
  /** ISO 4217, lower case. */
  currency: string;
  way: 'demo' | 'manual' | StripeSettings;
}

export interface StripeSettings {
  secretKey: string;
  webhookSecret: string;
  /** Address of the API; tests use a stand-in. */
  baseUrl: string;
  /** Of automatic top-ups. Default: usd. */
  currency?: string;
  /** How long a plan continues after a failed payment. Default: `PLAN_GRACE_DAYS`. */
  graceDays?: number;
  /** Whether Stripe computes taxes. Default: false. */
  hasAutomaticTax?: boolean;
}

/** Takes payments for purchases, or simulates them. */
export interface PaymentProvider {
  name: ProviderName;
  /** Origins of the pages to which customers are redirected. */
  checkoutOrigins: readonly string[];
  /**
   * Starts the payment of a purchase.
   * @throws PaymentUnavailable if the provider cannot be reached. @throws PurchaseRefused.
   */
  begin(purchase: Purchase, addresses: ReturnAddresses): Promise<PaymentStep>;
  /** null: the provider renews no plans. */
  renewals: RenewalActions | null;
}

/** What customers do with their renewing plans and payments. @throws PaymentUnavailable. */
export interface RenewalActions {
  setCancelled(plan: RenewingPlan, isCancelled: boolean): Promise<void>;
  change(plan: RenewingPlan, offer: PlanOffer): Promise<void>;
  documents(accountId: number): Promise<PaymentDocument[]>;
  /** Returns the address of the provider's page for cards. */
  portal(accountId: number, returnTo: string): Promise<string>;
}

/** An invoice or a receipt, with its page at the provider. Amounts are in cents. */
export interface PaymentDocument {
  kind: 'invoice' | 'receipt';
  at: Date;
  amountCents: number;
  currency: string;
  state: string;
  url: string;
}

/** The addresses to which the customer returns. */
export interface ReturnAddresses {
  paid: string;
  cancelled: string;
}

/**
 * granted: the purchase is paid. waiting: an operator has to confirm the payment. redirect: the customer pays at
 * the address, and the provider sends a message.
 */
export type PaymentStep = { kind: 'granted' } | { kind: 'waiting' } | { kind: 'redirect'; url: string };

/** The payment provider cannot be reached, or rejects the request. */
export class PaymentUnavailable extends Error {
  /** Whether the bank of the customer has declined the payment. Then the provider has not failed. */
  readonly isDeclined: boolean;

  constructor(message: string, options: { cause: unknown; isDeclined: boolean }) {
    super(message, options);
    this.isDeclined = options.isDeclined;
  }
}

const WITHOUT_PAGES = { checkoutOrigins: [], renewals: null } as const;

/** Grants every purchase immediately, without payment. For trials of the service with the demo provider. */
export const demoPayments: PaymentProvider = {
  name: 'demo',
  begin: async () => ({ kind: 'granted' }),
  ...WITHOUT_PAGES,
};

/** An operator confirms payments by hand. Free purchases are granted immediately. */
export const manualPayments: PaymentProvider = {
  name: 'manual',
  begin: async ({ amountCents }) => ({ kind: amountCents === 0 ? 'granted' : 'waiting' }),
  ...WITHOUT_PAGES,
};

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

/** @throws PurchaseRefused as it is, and any other error as PaymentUnavailable. */
function unavailable(error: unknown): never {
  if (error instanceof PurchaseRefused) throw error;
  const isDeclined = (error as { type?: unknown }).type === 'StripeCardError';
  const message = isDeclined
    ? 'The payment was declined. Change your card and try again.'
    : 'Stripe cannot be reached or has rejected the request.';
  throw new PaymentUnavailable(message, { cause: error, isDeclined });
}
