import type Stripe from 'stripe';
import type { Database, Queryable } from '../../../platform/db/pool.ts';
import { DAY_MS } from '../../../platform/durations.ts';
import type { Logger } from '../../../platform/log.ts';
import type { StripeSettings } from '../payment-port.ts';

/** A payment that failed, for a notice to its customer. */
export interface FailedPayment {
  /** Identifies the failure; all reports of it have the same value. */
  reference: string;
  /** What it was for, such as "Basic, one month". */
  purchase: string;
  /** Such as "$29.00". */
  amount: string;
  /** ISO; when the plan ends without a payment. null: nothing ends. */
  endsAt: string | null;
}

export interface StripeDeps {
  database: Database;
  now: () => number;
  log: Logger;
  /** Tells the customer about a failed payment, in the transaction that stores it. Default: only the pages show it. */
  notify?: (db: Queryable, accountId: number, failed: FailedPayment) => Promise<void>;
}

/** Stripe's API and everything that code about payments through Stripe needs. */
export interface StripeContext extends Required<StripeDeps> {
  /** Stripe's client is loaded at the first use: it is large, and few installations take payments. */
  api: () => Promise<Stripe>;
  graceMs: number;
  hasAutomaticTax: boolean;
  currency: string;
}

export const PLAN_GRACE_DAYS = 7;

export function stripeContext(settings: StripeSettings, deps: StripeDeps): StripeContext {
  const { graceDays = PLAN_GRACE_DAYS, hasAutomaticTax = false, currency = 'usd' } = settings;
  let opened: Promise<Stripe> | undefined;
  return {
    notify: async () => {},
    ...deps,
    api: () => (opened ??= openStripe(settings)),
    graceMs: graceDays * DAY_MS,
    hasAutomaticTax,
    currency,
  };
}

async function openStripe({ secretKey, baseUrl }: StripeSettings): Promise<Stripe> {
  const { hostname, port, protocol } = new URL(baseUrl);
  return new (await import('stripe')).default(secretKey, {
    host: hostname,
    ...(port ? { port: Number(port) } : {}),
    protocol: protocol === 'http:' ? 'http' : 'https',
    timeout: 20_000,
    maxNetworkRetries: 2,
    telemetry: false,
  });
}
