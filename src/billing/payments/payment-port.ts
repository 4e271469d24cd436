import type { ProviderName, Purchase } from './purchases.ts';

export interface PaymentSettings {
  /** ISO 4217, lower case. */
  currency: string;
  way: 'demo' | 'manual' | StripeSettings;
}

export interface StripeSettings {
  secretKey: string;
  webhookSecret: string;
  /** Of the API; a stand-in in tests. */
  baseUrl: string;
}

/** Takes money for purchases, or does as if. */
export interface PaymentProvider {
  name: ProviderName;
  /** Sites that customers are sent to. */
  checkoutOrigins: readonly string[];
  /** Begins the payment of a purchase. @throws PaymentUnavailable when the provider cannot be reached. */
  begin(purchase: Purchase, addresses: ReturnAddresses): Promise<PaymentStep>;
}

/** Where the customer comes back to. */
export interface ReturnAddresses {
  paid: string;
  cancelled: string;
}

/**
 * granted: it is paid for. waiting: somebody has to confirm it. redirect: the customer pays at that address, and the
 * provider tells us.
 */
export type PaymentStep =
  | { kind: 'granted' }
  | { kind: 'waiting' }
  | { kind: 'redirect'; url: string; ref: string };

/** The provider of payments cannot be reached, or refuses. */
export class PaymentUnavailable extends Error {}

/** Grants at once; nobody pays. For trials of the service with the demo provider. */
export const demoPayments: PaymentProvider = {
  name: 'demo',
  checkoutOrigins: [],
  begin: () => Promise.resolve({ kind: 'granted' }),
};

/** An operator confirms that the money has come. What costs nothing needs nobody. */
export const manualPayments: PaymentProvider = {
  name: 'manual',
  checkoutOrigins: [],
  begin: (purchase) => Promise.resolve({ kind: purchase.amountCents === 0 ? 'granted' : 'waiting' }),
};
