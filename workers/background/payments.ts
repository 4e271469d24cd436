import type { StripeSettings } from '../../src/billing/payments/payment-port.ts';
import {
  reconcileCheckouts,
  reconcileReversals,
} from '../../src/billing/payments/stripe/reconcile-checkouts.ts';
import { type StripeDeps, stripeContext } from '../../src/billing/payments/stripe/stripe-context.ts';
import { reconcileRenewals } from '../../src/billing/payments/sync-renewal.ts';
import { runTopUps } from '../../src/billing/payments/top-ups.ts';
import { type Clock, every } from '../../src/platform/clock.ts';
import { withLease } from '../../src/platform/db/lease.ts';
import { MINUTE_MS } from '../../src/platform/durations.ts';

const EVERY_MS = MINUTE_MS;

/** Repairs what lost events of Stripe left undone, once a minute in one process, until the process stops. */
export function startPayments(
  settings: StripeSettings,
  { clock, ...deps }: Omit<StripeDeps, 'now'> & { clock: Clock },
): () => Promise<void> {
  const { database, log } = deps;
  const context = stripeContext(settings, { ...deps, now: clock.now });
  return every(clock, EVERY_MS, async () => {
    for (const [name, { pauseMs, task }] of Object.entries(TASKS))
      await withLease(database, clock, { name, pauseMs }, () => task(context)).catch((error: unknown) =>
        log.warn({ err: error, task: name }, 'failed to reconcile payments'),
      );
  });
}

/** Each pause is shorter than its interval. If it were equal, a run would be skipped when two timers differ by some milliseconds. */
const TASKS = {
  renewals: { pauseMs: EVERY_MS - 5_000, task: reconcileRenewals },
  'top-ups': { pauseMs: EVERY_MS - 5_000, task: runTopUps },
  reversals: { pauseMs: 60 * EVERY_MS - 5_000, task: reconcileReversals },
  checkouts: { pauseMs: 10 * EVERY_MS - 5_000, task: reconcileCheckouts },
};
