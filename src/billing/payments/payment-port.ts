import type { RenewingPlan } from '../renewals/renewing-plans.ts';
import type { PlanOffer } from './offers.ts';
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
  /** Starts the payment of a purchase. @throws PaymentUnavailable if the provider cannot be reached. */
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
  renewals: null,
};

/** An operator confirms payments by hand. Free purchases are granted at once. */
export const manualPayments: PaymentProvider = {
  name: 'manual',
  checkoutOrigins: [],
  begin: (purchase) => Promise.resolve({ kind: purchase.amountCents === 0 ? 'granted' : 'waiting' }),
  renewals: null,
};
