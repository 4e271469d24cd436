import type { StripeSettings } from '../../src/billing/payments/payment-port.ts';
import { reconcileCheckouts, reconcileReversals } from '../../src/billing/payments/stripe/events.ts';
import { type StripeDeps, stripeContext } from '../../src/billing/payments/stripe/stripe-context.ts';
import { reconcileRenewals } from '../../src/billing/payments/sync-renewal.ts';
import { runTopUps } from '../../src/billing/payments/top-ups.ts';
import type { Clock } from '../../src/platform/clock.ts';
import { everyWithLease } from '../../src/platform/db/lease.ts';
import { MINUTE_MS } from '../../src/platform/durations.ts';

/** Repairs what lost events of Stripe left undone, once a minute in one process, until the process stops. */
export function startPayments(
  settings: StripeSettings,
  { clock, ...deps }: Omit<StripeDeps, 'now'> & { clock: Clock },
): () => Promise<void> {
  const context = stripeContext(settings, { ...deps, now: clock.now });
  const onceIn = (minutes: number, task: (stripe: typeof context) => Promise<void>) => ({
    pauseMs: minutes * MINUTE_MS - 5_000,
    task: () => task(context),
  });
  return everyWithLease({ ...deps, clock }, MINUTE_MS, 'failed to reconcile payments', {
    renewals: onceIn(1, reconcileRenewals),
    'top-ups': onceIn(1, runTopUps),
    reversals: onceIn(60, reconcileReversals),
    checkouts: onceIn(10, reconcileCheckouts),
  });
}
