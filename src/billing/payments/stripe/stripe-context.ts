import type Stripe from 'stripe';
import type { Database, Queryable } from '../../../platform/db/pool.ts';
import type { Logger } from '../../../platform/log.ts';
import type { StripeSettings } from '../payment-port.ts';

/** A message for the customer of an account, stored in the transaction of what it is about. */
export interface Notice {
  accountId: number;
  kind: 'payment_failed' | 'top_up_failed';
  facts: Readonly<Record<string, string>>;
}

export interface StripeDeps {
  database: Database;
  now: () => number;
  log: Logger;
  /** Default: the customer sees the state on the pages only. */
  notify?: (db: Queryable, notice: Notice) => Promise<void>;
}

/** Stripe's API and everything that code about payments through Stripe needs. */
export interface StripeContext extends Required<StripeDeps> {
  /** Stripe's client is loaded at the first use: it is large, and few installations take payments. */
  api: () => Promise<Stripe>;
  graceMs: number;
  hasAutomaticTax: boolean;
}

const DAY_MS = 86_400_000;
export const PLAN_GRACE_DAYS = 7;

export function stripeContext(settings: StripeSettings, deps: StripeDeps): StripeContext {
  const { graceDays = PLAN_GRACE_DAYS, hasAutomaticTax = false } = settings;
  let opened: Promise<Stripe> | undefined;
  return {
    notify: async () => {},
    ...deps,
    api: () => (opened ??= openStripe(settings)),
    graceMs: graceDays * DAY_MS,
    hasAutomaticTax,
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
