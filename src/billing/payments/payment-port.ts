import type { ProviderName, Purchase } from './purchases.ts';

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
  /** Starts the payment of a purchase. @throws PaymentUnavailable if the provider cannot be reached. */
  begin(purchase: Purchase, addresses: ReturnAddresses): Promise<PaymentStep>;
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
export type PaymentStep =
  | { kind: 'granted' }
  | { kind: 'waiting' }
  | { kind: 'redirect'; url: string; ref: string };

/** The payment provider cannot be reached, or rejects the request. */
export class PaymentUnavailable extends Error {}

/** Grants every purchase at once, without payment. For trials of the service with the demo provider. */
export const demoPayments: PaymentProvider = {
  name: 'demo',
  checkoutOrigins: [],
  begin: () => Promise.resolve({ kind: 'granted' }),
};

/** An operator confirms payments by hand. Free purchases are granted at once. */
export const manualPayments: PaymentProvider = {
  name: 'manual',
  checkoutOrigins: [],
  begin: (purchase) => Promise.resolve({ kind: purchase.amountCents === 0 ? 'granted' : 'waiting' }),
};
